import { expect, test } from "vitest";

import { buttons, type Ended } from "../src/ending";

const FAILED: Ended = {
  jobId: "j",
  message: "No.",
  isGood: false,
  kept: false,
  textDocument: { uri: "file:///a.py", version: 1 },
  remedies: [],
};

const titles = (ended: Ended, isOpen = false): string[] => buttons(ended, isOpen).map(({ title }) => title);

test("a kept result has buttons to show, insert and discard it; an open difference has no Show button", () => {
  const kept = { ...FAILED, kept: true };
  expect(titles(kept)).toEqual(["Show Difference", "Insert", "Discard", "Show Journal"]);
  expect(titles(kept, true)).toEqual(["Show Journal", "Insert", "Discard"]);
  expect(titles({ ...kept, isGood: true }, true)).toEqual(["Insert", "Discard"]);
});

test("a failure has its journal and the remedies that its message names", () => {
  expect(titles(FAILED)).toEqual(["Show Journal"]);
  const remedies = [
    { kind: "start" },
    { kind: "pull", model: "m:7b" },
    { kind: "setting", key: "ollama.host" },
    { kind: "setting", key: "model" },
    { kind: "trust" },
    { kind: "command", title: "Fix", command: "adacoder.server.fix", arguments: [{ uri: "file:///a.py" }] },
  ] as const;
  expect(buttons({ ...FAILED, jobId: null, remedies }, false)).toEqual([
    { title: "Start Ollama", act: "start", subject: "" },
    { title: "Pull Model", act: "pull", subject: "m:7b" },
    { title: "Manage Trust", act: "trust", subject: "" },
    { title: "Fix", act: "command", subject: "adacoder.server.fix", arguments: [{ uri: "file:///a.py" }] },
    { title: "Open Settings", act: "settings", subject: "@id:adacoder.ollama.host @id:adacoder.model" },
  ]);
});

test("a success has no buttons", () => {
  expect(titles({ ...FAILED, isGood: true, remedies: [{ kind: "start" }] })).toEqual([]);
});
