/** Requests of the commands to the server. */

import { l10n, window, type TestItem, type TextDocument } from "vscode";
import { ExecuteCommandRequest, LSPErrorCodes, ResponseError } from "vscode-languageclient/node";

import type { Ended } from "./ending";
import { tell } from "./messages";
import { RUN, toEnded, type Mode, type RunParams, type RunResult } from "./protocol";
import type { Client } from "./server";
import type { Finding } from "./situation";

const TITLES: Readonly<Record<Mode, string>> = {
  generate: l10n.t("Generating function"),
  fix: l10n.t("Fixing function"),
  check: l10n.t("Checking examples"),
  another: l10n.t("Writing another candidate"),
  suggestExamples: l10n.t("Suggesting examples"),
};
/** The server's limit for the length of a wish. */
const LONGEST_WISH = 500;
const PYTHON = "python";
/** The languages of pages, which have only examples. */
const PAGES = ["markdown", "restructuredtext"];
const STATUS_BAR_MS = 5000;
/** Separates the parts of a name that pytest gives a test: the path, the classes, the function. */
const SEPARATOR = "::";

/** Asks the user for a wish; undefined if the user cancels. */
export async function askForWish(): Promise<string | undefined> {
  return window.showInputBox({
    title: l10n.t("Generate with a Wish"),
    prompt: l10n.t("How should the function work? Nothing checks that it does, so read it."),
    placeHolder: l10n.t("use bisect, no recursion"),
    validateInput: (text) => (text.length > LONGEST_WISH ? l10n.t("Use at most {0} characters.", LONGEST_WISH) : undefined),
  });
}

/**
 * Runs `adacoder/run` on the function at the cursor, or checks a page. Returns the end of the job, unless it was
 * cancelled.
 *
 * @param wish - the user's wish for the function; undefined to use the latest wish for this function
 */
export async function runOnFunction(client: Client, mode: Mode, wish?: string): Promise<Ended | undefined> {
  const editor = editorIn(mode === "check" ? [PYTHON, ...PAGES] : [PYTHON]);
  if (editor === undefined) return undefined;
  const { document, selection } = editor;
  const target = {
    textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(document),
    position: client.code2ProtocolConverter.asPosition(selection.active),
  };
  const asked = { uri: target.textDocument.uri, version: document.version };
  try {
    const result = await client.progress.during(TITLES[mode], (workDoneToken, cancellation) => {
      const params: RunParams = { ...target, mode, apply: mode !== "check", wish, workDoneToken };
      return client.sendRequest<RunResult>(RUN, params, cancellation);
    });
    return toEnded(result, asked);
  } catch (error) {
    if (!isCancelled(error)) throw error;
    window.setStatusBarMessage(l10n.t("AdaCoder: cancelled."), STATUS_BAR_MS);
    return undefined;
  }
}

/** Lets the server write all functions of the file that have no body yet. */
export async function generateAll(client: Client): Promise<void> {
  const editor = editorIn([PYTHON]);
  if (editor === undefined) return;
  const { uri } = client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document);
  await execute(client, "adacoder.server.generateAll", { uri });
}

/** Fixes the function behind a test of the Test Explorer. For a test of the project, the server finds the function. */
export async function fixTest(client: Client, item: TestItem): Promise<void> {
  if (item.uri === undefined) return;
  const uri = client.code2ProtocolConverter.asUri(item.uri);
  const isOurs = item.id.startsWith(uri);
  const start = isOurs ? -1 : item.id.indexOf(SEPARATOR);
  const position = item.range && client.code2ProtocolConverter.asPosition(item.range.start);
  if (start === -1 && position === undefined) {
    void tell(l10n.t("This is not a single test: choose a test below it."), { isGood: false });
    return;
  }
  const asked = start === -1 ? { position } : { test: item.id.slice(start + SEPARATOR.length) };
  await execute(client, `adacoder.server.${isOurs ? "fix" : "fixTest"}`, { uri, ...asked });
}

/** The file in the active editor, if it is Python. */
export function pythonInFront(): TextDocument | undefined {
  const document = window.activeTextEditor?.document;
  return document?.languageId === PYTHON ? document : undefined;
}

/**
 * The doctor's findings for a document's folder, by default the first folder. With `probe`, the doctor measures models.
 */
export async function examine(client: Client, about: TextDocument | undefined, probe: boolean): Promise<readonly Finding[]> {
  const uri = about && client.code2ProtocolConverter.asUri(about.uri);
  const { findings } = (await execute(client, "adacoder.server.doctor", { probe, uri })) as { findings: Finding[] };
  return findings;
}

function editorIn(languages: readonly string[]): typeof window.activeTextEditor {
  const editor = window.activeTextEditor;
  if (editor !== undefined && languages.includes(editor.document.languageId) && isServed(editor.document)) return editor;
  void tell(l10n.t("Put the cursor in a function of a Python file, of an untitled text in Python, or of a notebook."), { isGood: false });
  return undefined;
}

/** True if the server works on documents with this scheme. Pages must be files. */
function isServed({ uri: { scheme }, languageId }: TextDocument): boolean {
  return scheme === "file" || (languageId === PYTHON && /^(untitled|vscode-notebook-cell)$/.test(scheme));
}

/** Executes a command of the server that needs no target. */
export function execute(client: Client, command: string, ...args: object[]): Promise<unknown> {
  return client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
}

export function isCancelled(error: unknown): boolean {
  return error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled;
}
