/** AdaCoder in VS Code: the palette commands and the server behind them. */

import { commands, window, workspace, type Disposable, type ExtensionContext } from "vscode";

import { JournalDocument } from "./journal";
import { execute, runOnFunction } from "./requests";
import { Server, type Client } from "./server";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const output = window.createOutputChannel("AdaCoder", { log: true });
  server = new Server(output);
  context.subscriptions.push(output, ...contributions(server));
  void server.running();
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}

function contributions(server: Server): Disposable[] {
  const journal = new JournalDocument();
  const onServer = (command: string, act: (client: Client) => Promise<unknown>): Disposable =>
    commands.registerCommand(command, async () => {
      const client = await server.running();
      if (client !== undefined) await act(client);
    });

  return [
    workspace.registerTextDocumentContentProvider(JournalDocument.SCHEME, journal),
    onServer("adacoder.generateFunction", (client) => runOnFunction(client, "generate")),
    onServer("adacoder.fix", (client) => runOnFunction(client, "fix")),
    onServer("adacoder.checkExamples", (client) => runOnFunction(client, "check")),
    onServer("adacoder.cancel", (client) => execute(client, "adacoder.server.cancel")),
    onServer("adacoder.showJournal", async (client) => {
      await journal.show(await execute(client, "adacoder.server.journal", { format: "markdown" }));
    }),
    commands.registerCommand("adacoder.restart", () => server.restart()),
    workspace.onDidGrantWorkspaceTrust(() => server.restart()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("adacoder.path")) void server.restart();
    }),
  ];
}
