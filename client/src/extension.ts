/** AdaCoder in VS Code: the commands, the status, and the server behind them. */

import { join } from "node:path";
import {
  commands,
  extensions,
  l10n,
  window,
  workspace,
  type Disposable,
  type ExtensionContext,
  type LogOutputChannel,
  type TestItem,
  type TextDocument,
} from "vscode";

import { ErrorCodes, ResponseError } from "vscode-languageclient/node";

import { DoctorDocument, selectModel, selectStrategy } from "./choose";
import { Insertions } from "./inserted";
import { PrivateServer } from "./install";
import { openSettings } from "./open-settings";
import { askForWish, execute, fixTest, generateAll, runOnFunction } from "./requests";
import type { Kept } from "./preview";
import type { Mode } from "./protocol";
import { Results } from "./results";
import { Server, type Client } from "./server";
import { NO_WINDOWS, type Entry } from "./situation";
import { Status } from "./status";
import { registerTests } from "./tests/explorer";
import { registerTools } from "./tools";
import { registerWalkthrough } from "./walkthrough";
import { LiveReplies } from "./writing";

const TOLD_OF_WINDOWS = "adacoder.toldOfWindows";
const WSL = "ms-vscode-remote.remote-wsl";

/** Error codes of requests that fail because the server is gone. */
const LOST: readonly number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive];

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const output = window.createOutputChannel("AdaCoder", { log: true });
  server = new Server(output, new PrivateServer(context, output), context.storageUri?.fsPath);
  const status = new Status(server, () => {
    output.show();
  });
  const results = new Results(server);
  status.contribute(async () => (await results.kept()).map(toEntry));
  context.subscriptions.push(output, status, results, new LiveReplies(server), new Insertions(server), ...contributions(server, output, results));
  context.subscriptions.push(...registerTests(server, join(context.extensionPath, "python", "debug_examples.py")), ...registerTools(server, output), ...registerWalkthrough(context));
  beginWithPython(server, context);
  server.watchInterpreter();
  if (process.platform === "win32") void tellOfWindows(context);
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}

/** Starts the server as soon as a Python file is open, not merely present in the folder. */
function beginWithPython(server: Server, context: ExtensionContext): void {
  const look = ({ languageId }: TextDocument): void => {
    if (languageId === "python") void server.begin();
  };
  workspace.textDocuments.forEach(look);
  context.subscriptions.push(workspace.onDidOpenTextDocument(look));
}

/** A kept result, as an entry of the status menu. */
function toEntry({ title, jobId }: Kept): Entry {
  return { label: `$(diff) ${l10n.t("Show {0}", title)}`, command: "adacoder.server.difference", arguments: [{ jobId }] };
}

function contributions(server: Server, output: LogOutputChannel, results: Results): Disposable[] {
  const doctor = new DoctorDocument();
  const onServer = (command: string, act: (client: Client, test?: TestItem) => Promise<unknown>): Disposable =>
    commands.registerCommand(command, async (test?: TestItem) => {
      const client = await server.running();
      if (client !== undefined) await unlessLost(act(client, test));
    });
  const run = async (client: Client, mode: Mode, wish?: string): Promise<void> => {
    const ended = await runOnFunction(client, mode, wish);
    if (ended !== undefined) void results.show(ended);
  };
  const onFunction = (command: string, mode: Mode): Disposable => onServer(command, (client) => run(client, mode));

  return [
    workspace.registerTextDocumentContentProvider(DoctorDocument.SCHEME, doctor),
    onFunction("adacoder.generateFunction", "generate"),
    onServer("adacoder.generateWithWish", async (client) => {
      const wish = await askForWish();
      if (wish !== undefined) await run(client, "generate", wish);
    }),
    onFunction("adacoder.fix", "fix"),
    onServer("adacoder.fixWithAdaCoder", (client, test) => (test === undefined ? run(client, "fix") : fixTest(client, test))),
    onFunction("adacoder.checkExamples", "check"),
    onFunction("adacoder.another", "another"),
    onFunction("adacoder.suggestExamples", "suggestExamples"),
    onServer("adacoder.generateAll", generateAll),
    onServer("adacoder.cancel", (client) => execute(client, "adacoder.server.cancel")),
    onServer("adacoder.showJournal", (client) => results.showJournal(client)),
    onServer("adacoder.selectModel", selectModel),
    onServer("adacoder.selectStrategy", selectStrategy),
    onServer("adacoder.doctor", (client) => doctor.show(client)),
    commands.registerCommand("adacoder.installServer", () => server.restart()),
    commands.registerCommand("adacoder.reopenInWsl", reopenInWsl),
    commands.registerCommand("adacoder.showLog", () => {
      output.show();
    }),
    commands.registerCommand("adacoder.restart", () => server.restart()),
    commands.registerCommand("adacoder.openSettings", () => openSettings("@ext:adacoder.adacoder")),
    workspace.onDidGrantWorkspaceTrust(() => server.renew()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("adacoder.path")) void server.renew();
    }),
  ];
}

/** Waits for the server's answer. A crash of the server is not an error here, because the status reports it. */
async function unlessLost(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof ResponseError && LOST.includes(error.code))) throw error;
  }
}

/** Says once which features do not work on Windows itself. */
async function tellOfWindows(context: ExtensionContext): Promise<void> {
  if (context.globalState.get(TOLD_OF_WINDOWS) === true) return;
  await context.globalState.update(TOLD_OF_WINDOWS, true);
  const reopen = extensions.getExtension(WSL) === undefined ? l10n.t("Show WSL Extension") : l10n.t("Reopen in WSL");
  if ((await window.showWarningMessage(NO_WINDOWS, reopen)) === reopen) await reopenInWsl();
}

/** Opens the folder in WSL. Without the WSL extension, shows that extension. */
async function reopenInWsl(): Promise<void> {
  if (extensions.getExtension(WSL) === undefined) await commands.executeCommand("workbench.extensions.search", WSL);
  else await commands.executeCommand("remote-wsl.reopenInWSL");
}
