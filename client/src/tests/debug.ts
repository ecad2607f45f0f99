/** Debugging the examples of one docstring, without isolation. */

import { commands, debug, extensions, l10n, window, workspace, type DebugConfiguration, type Uri } from "vscode";

import { tell } from "../messages";
import type { Client } from "../server";

/** The request; its answer is {@link Debuggee}. */
export const DEBUG = "adacoder/debug";
const DEBUGGER = "ms-python.debugpy";

/** The data that a debugger needs, or the reason why nothing can be debugged. */
interface Debuggee {
  readonly interpreter: string;
  readonly folder: string;
  readonly root: string;
  readonly path: string;
  /** null for a page. */
  readonly module: string | null;
  readonly qualifiedName: string;
  readonly setup: string;
  /** Environment variables, each as `NAME=VALUE`. */
  readonly env: readonly string[];
  readonly options: readonly string[];
}

/**
 * Runs the examples of a docstring under the Python Debugger, if the workspace is trusted and the user agrees.
 *
 * @param id - the docstring, from the server's list
 * @param program - the program that runs the examples
 */
export async function debugExamples(client: Client, id: string, uri: Uri, program: string): Promise<void> {
  if (!workspace.isTrusted) {
    void tell(l10n.t("AdaCoder debugs examples only in a trusted workspace: trust it first."), { isGood: false });
    return;
  }
  if (extensions.getExtension(DEBUGGER) === undefined) {
    void proposeDebugger();
    return;
  }
  const answer = await client.sendRequest<Debuggee | { readonly reason: string }>(DEBUG, { id });
  if (!("path" in answer)) void tell(answer.reason, { isGood: false });
  else if (answer.interpreter.includes("${"))
    void tell(l10n.t("The interpreter's path contains `${`, which VS Code would replace: move it."), { isGood: false });
  else if (await isConfirmed(answer)) await debug.startDebugging(workspace.getWorkspaceFolder(uri), launch(answer, program));
}

async function proposeDebugger(): Promise<void> {
  const show = l10n.t("Show Extension");
  const message = l10n.t("AdaCoder debugs examples with the extension Python Debugger: install {0}.", DEBUGGER);
  if ((await window.showWarningMessage(message, show)) === show) await commands.executeCommand("workbench.extensions.search", DEBUGGER);
}

async function isConfirmed({ path, interpreter }: Debuggee): Promise<boolean> {
  const agree = l10n.t("Debug without Isolation");
  const detail = l10n.t(
    "The examples and the code that they call run without isolation, under {0}. They can read and change all your files and use the network. Continue only if you trust this code.",
    visible(interpreter),
  );
  return (await window.showWarningMessage(l10n.t("Debug examples of {0}?", visible(path)), { modal: true, detail }, agree)) === agree;
}

/** A path without invisible or misleading characters, for the dialog. */
function visible(path: string): string {
  return path.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
}

/**
 * A launch that is safe for any file name: it starts no shell, and its arguments contain no variable that VS Code would
 * replace, such as `${command:…}`.
 */
function launch({ interpreter, folder, root, path, module, qualifiedName, setup, env, options }: Debuggee, program: string): DebugConfiguration {
  return {
    type: "debugpy",
    request: "launch",
    name: l10n.t("AdaCoder: examples"),
    python: [interpreter],
    program,
    args: [folder, root, path, module ?? "", qualifiedName, setup, env.join("\0"), ...options].map(encodeURIComponent),
    console: "internalConsole",
    justMyCode: true,
  };
}
