import { expect, test } from "vitest";

import { modelChoices, placeOf, strategyChoices, type Model, type Models } from "../src/model-list";

const MODEL: Model = {
  name: "qwen2.5-coder:7b",
  billions: 7.6156,
  cloud: false,
  bytes: 4_683_087_332,
  fits: true,
  quantization: "Q4_K_M",
  chats: true,
  loaded: true,
};
const NONE: Models = { models: [], recommended: [], reason: null };

test("a model is shown with its size, its quantization, whether it fits, and whether it is loaded", () => {
  const [, choice] = modelChoices({ ...NONE, models: [MODEL] }, undefined);
  expect(choice).toEqual({
    label: "qwen2.5-coder:7b",
    description: "7.62B · Q4_K_M · 4.7 GB · fits into memory · loaded",
    value: "ollama:qwen2.5-coder:7b",
    group: "Installed",
    first: null,
    chosen: false,
  });
});

test("a fact that the server omits is left out", () => {
  const untold = { ...MODEL, billions: 0, quantization: null, bytes: null, fits: null, chats: null, loaded: false };
  const [, one, two] = modelChoices({ ...NONE, models: [untold, { ...untold, cloud: true, fits: false }] }, "");
  expect(one?.description).toBe("");
  expect(two?.description).toBe("in Ollama's cloud");
});

test("models that cannot answer are not offered", () => {
  expect(modelChoices({ ...NONE, models: [{ ...MODEL, chats: false }] }, "").map(({ label }) => label)).toEqual(["Automatic", "Other Model…"]);
});

test("recommended models are offered for download unless they are installed", () => {
  const recommended = [
    { name: "small", bytes: 986_000_000, fits: true, installed: false },
    { name: "large", bytes: 19e9, fits: false, installed: false },
    { name: "there", bytes: 1, fits: true, installed: true },
    { name: "elsewhere", bytes: 1e9, fits: null, installed: false },
  ];
  const choices = modelChoices({ ...NONE, recommended }, "").slice(1, -1);
  expect(choices.map(({ label, description, first }) => [label, description, first])).toEqual([
    ["small", "1.0 GB · fits into memory", "download"],
    ["large", "19.0 GB · too large for memory", "download"],
    ["elsewhere", "1.0 GB", "download"],
  ]);
});

test("the selected model is marked in either spelling; only the first of several", () => {
  const chosen = (current: unknown): string[] =>
    modelChoices({ ...NONE, models: [MODEL, { ...MODEL, name: "other" }] }, current)
      .filter((choice) => choice.chosen)
      .map(({ label }) => label);
  for (const nothing of ["", undefined]) expect(chosen(nothing)).toEqual(["Automatic"]);
  expect(chosen("other")).toEqual(["other"]);
  expect(chosen("ollama:qwen2.5-coder:7b")).toEqual(["qwen2.5-coder:7b"]);
  expect(chosen(["other", "qwen2.5-coder:7b"])).toEqual(["other"]);
  expect(chosen("openai:big")).toEqual([]);
});

test("strategies are shown with their cost and a sentence", () => {
  const strategies = [
    { name: "adacoder", calls: "1 to 12", summary: "Plans late." },
    { name: "direct", calls: "1", summary: "Asks once." },
  ];
  const [one, two] = strategyChoices({ strategies }, "direct");
  expect(one).toMatchObject({ description: "1 to 12 model calls", detail: "Plans late.", chosen: false });
  expect(two).toMatchObject({ value: "direct", description: "1 model call", chosen: true });
});

test("a choice is written where it takes effect", () => {
  expect(placeOf(undefined)).toBe("user");
  expect(placeOf({})).toBe("user");
  expect(placeOf({ workspaceValue: "x" })).toBe("workspace");
  expect(placeOf({ workspaceValue: "x", workspaceFolderValue: "" })).toBe("folder");
});
