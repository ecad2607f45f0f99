/** Messages without buttons. VS Code cuts them after a line. */

import { beforeEach, expect, test, vi } from "vitest";

import { ONE_LINE } from "../src/ending";
import { tell } from "../src/messages";
import { commands, window } from "./fake/vscode";


beforeEach(() => {
  vi.clearAllMocks();
});

test("only a message longer than one line gets a button, which shows the log", async () => {
  await tell("x".repeat(ONE_LINE), { isGood: true });
  window.showWarningMessage.mockResolvedValueOnce("Show Log");
  await tell("x".repeat(ONE_LINE + 1), { isGood: false });
  expect(window.showWarningMessage.mock.calls.map(([, ...buttons]) => buttons)).toEqual([[], ["Show Log"]]);
  expect(commands.executeCommand.mock.calls).toEqual([["adacoder.showLog"]]);
});
