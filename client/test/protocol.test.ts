import { expect, test } from "vitest";

import { toMessage, toServerSettings } from "../src/protocol";

test("only a verified result is information; all others are warnings", () => {
  expect(toMessage({ status: "verified", reason: null, summary: "Verified 'f'." })).toEqual({
    text: "Verified 'f'.",
    isWarning: false,
  });
  for (const status of ["partial", "unverified", "failed", "cancelled", "error"] as const) {
    expect(toMessage({ status, reason: "Why.", summary: "All." })).toEqual({ text: "All.", isWarning: true });
  }
});

test("a verified result whose edit was not made is a warning", () => {
  const result = { status: "verified", reason: null, summary: "Verified, but the text changed." } as const;
  expect(toMessage({ ...result, failureReason: "The text changed." }).isWarning).toBe(true);
  expect(toMessage({ ...result, failureReason: null }).isWarning).toBe(false);
});

test("without a summary the reason is shown, and without that the status", () => {
  expect(toMessage({ status: "error", reason: "No such file." }).text).toBe("No such file.");
  expect(toMessage({ status: "failed", reason: null }).text).toBe("AdaCoder: failed.");
});

const all = (): boolean => true;

test("the server gets the settings that are its own, and the workspace's trust", () => {
  const section = { path: "/opt/adacoder", model: ["a", "b"], ollama: { host: "h" }, trusted: true };
  const settings = toServerSettings(section, all, false);
  expect(settings).toEqual({ model: ["a", "b"], "ollama.host": "h", trusted: false });
  expect(toServerSettings(null, all, true)).toEqual({ trusted: true });
});

test("what nobody has set is left to the project and the server", () => {
  const section = { strategy: "direct", temperature: 0.2, ollama: { host: "" } };
  expect(toServerSettings(section, (key) => key === "strategy", true)).toEqual({ strategy: "direct", trusted: true });
  expect(toServerSettings(section, (key) => key === "ollama.host", true)).toEqual({ "ollama.host": "", trusted: true });
});
