/** What the commands ask of the server. */

import { window } from "vscode";
import { ExecuteCommandRequest, LSPErrorCodes, ResponseError } from "vscode-languageclient/node";

import { RUN, toMessage, type Mode, type RunParams, type RunResult } from "./protocol";
import type { Client } from "./server";

const TITLES: Readonly<Record<Mode, string>> = {
  generate: "Generating function",
  fix: "Fixing function",
  check: "Checking examples",
};
const STATUS_BAR_MS = 5000;

/** Runs `adacoder/run` on the function under the cursor and says how it ended. */
export async function runOnFunction(client: Client, mode: Mode): Promise<void> {
  const editor = window.activeTextEditor;
  if (editor?.document.languageId !== "python" || editor.document.uri.scheme !== "file") {
    void window.showWarningMessage("AdaCoder needs the cursor in a function of a Python file that is on disk.");
    return;
  }
  const target = {
    textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document),
    position: client.code2ProtocolConverter.asPosition(editor.selection.active),
  };
  try {
    const result = await client.progress.during(TITLES[mode], (workDoneToken, cancellation) => {
      const params: RunParams = { ...target, mode, apply: mode !== "check", workDoneToken };
      return client.sendRequest<RunResult>(RUN, params, cancellation);
    });
    tell(result);
  } catch (error) {
    if (!(error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled)) throw error;
    window.setStatusBarMessage("AdaCoder: cancelled.", STATUS_BAR_MS);
  }
}

function tell(result: RunResult): void {
  const { text, isWarning } = toMessage(result);
  void (isWarning ? window.showWarningMessage(text) : window.showInformationMessage(text));
}

/** Executes a command of the server that needs no target. */
export function execute(client: Client, command: string, ...args: object[]): Promise<unknown> {
  return client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
}
