import { expect, test } from "vitest";

import { toEnded, toServerSettings } from "../src/protocol";

const TEXT = { uri: "file:///names.py", version: 3 };

test("the server decides whether to warn", () => {
  const seen = { status: "verified", reason: null, failureReason: "Not inserted: review it first.", isGood: true } as const;
  expect(toEnded(seen, TEXT).isGood).toBe(true);
  expect(toEnded({ ...seen, isGood: false, failureReason: null }, TEXT).isGood).toBe(false);
});

test("only a verified result is good", () => {
  const verified = { status: "verified", reason: null, summary: "Verified 'f'.", jobId: "j" } as const;
  expect(toEnded(verified, TEXT)).toEqual({
    jobId: "j",
    message: "Verified 'f'.",
    isGood: true,
    kept: false,
    textDocument: TEXT,
    remedies: [],
  });
  for (const status of ["partial", "unverified", "failed", "cancelled", "error"] as const) {
    const { message, isGood } = toEnded({ status, reason: "Why.", summary: "All." }, TEXT);
    expect({ message, isGood }).toEqual({ message: "All.", isGood: false });
  }
});

test("a verified result whose edit was not made is not good", () => {
  const result = { status: "verified", reason: null, summary: "Verified, but the text changed." } as const;
  expect(toEnded({ ...result, failureReason: "The text changed.", kept: true }, TEXT)).toMatchObject({
    isGood: false,
    kept: true,
  });
  expect(toEnded({ ...result, failureReason: null }, TEXT).isGood).toBe(true);
});

test("a message is the summary, else the reason, else the status", () => {
  expect(toEnded({ status: "error", reason: "No such file." }, TEXT).message).toBe("No such file.");
  expect(toEnded({ status: "failed", reason: null }, TEXT).message).toBe("AdaCoder: failed.");
});

const all = (): boolean => true;

test("the server gets its own settings and the workspace's trust", () => {
  const section = { path: "/opt/adacoder", agentTools: true, model: ["a", "b"], ollama: { host: "h" }, trusted: true };
  const settings = toServerSettings(section, all, false);
  expect(settings).toEqual({ model: ["a", "b"], "ollama.host": "h", trusted: false });
  expect(toServerSettings(null, all, true)).toEqual({ trusted: true });
});

test("an unset setting is left to the project and the server", () => {
  const section = { strategy: "direct", temperature: 0.2, ollama: { host: "" } };
  expect(toServerSettings(section, (key) => key === "strategy", true)).toEqual({ strategy: "direct", trusted: true });
  expect(toServerSettings(section, (key) => key === "ollama.host", true)).toEqual({ "ollama.host": "", trusted: true });
});
