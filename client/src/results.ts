/** Results of jobs in VS Code: messages with buttons, previews, journals. */

import { Uri, commands, window, type Disposable } from "vscode";

import { pull } from "./choose";
import { ENDED, buttons, type Button, type Ended } from "./ending";
import { JournalDocument } from "./journal";
import { ollamaButton } from "./ollama";
import { openSettings } from "./open-settings";
import { Previews, type Kept } from "./preview";
import { execute } from "./requests";
import type { Client, Server } from "./server";

/** The results of one server. */
export class Results {
  private readonly previews: Previews;
  private readonly journal = new JournalDocument();
  private readonly known = new WeakSet<Client>();
  private readonly listening: Disposable;

  constructor(private readonly server: Server) {
    this.previews = new Previews(server);
    this.listening = server.onDidChange(() => {
      if (server.current !== undefined) this.meet(server.current);
    });
  }

  dispose(): void {
    this.listening.dispose();
    this.previews.dispose();
    this.journal.dispose();
  }

  /** The kept results, the latest first. */
  kept(): Promise<readonly Kept[]> {
    return this.previews.kept();
  }

  /** Shows the journal of a job, or of the last job. */
  async showJournal(client: Client, jobId?: string): Promise<void> {
    const job = jobId === undefined ? {} : { jobId };
    await this.journal.show(await execute(client, "adacoder.server.journal", { format: "markdown", ...job }), jobId);
  }

  /** Reports how a job ended. Opens the result only if its text is unchanged and still in the active editor. */
  async show(ended: Ended): Promise<void> {
    const isOpen = ended.kept && ended.jobId !== null && isLookedAt(ended);
    if (isOpen) await this.previews.open(ended.jobId);
    const offered = buttons(ended, isOpen, ollamaButton()?.title ?? null);
    const titles = offered.map(({ title }) => title);
    const answer = ended.isGood
      ? await window.showInformationMessage(ended.message, ...titles)
      : await window.showWarningMessage(ended.message, ...titles);
    const chosen = offered.find(({ title }) => title === answer);
    if (chosen !== undefined) await this.act(chosen);
  }

  private async act({ act, subject, arguments: args = [] }: Button): Promise<void> {
    if (act === "difference") await this.previews.open(subject);
    if (act === "insert") await this.previews.insert(subject);
    if (act === "discard") await this.previews.discard(subject);
    if (act === "start") await ollamaButton()?.press();
    if (act === "settings") await openSettings(subject);
    if (act === "trust") await commands.executeCommand("workbench.trust.manage");
    if (act === "log") await commands.executeCommand("adacoder.showLog");
    if (act !== "journal" && act !== "pull" && act !== "command") return;
    const client = await this.server.running();
    if (client === undefined) return;
    if (act === "journal") await this.showJournal(client, subject);
    else if (act === "pull") await pull(client, subject);
    else await execute(client, subject, ...args);
  }

  /** Shows the results of jobs that were started by a client's code lenses and light bulbs. */
  private meet(client: Client): void {
    if (this.known.has(client)) return;
    this.known.add(client);
    client.onNotification(ENDED, (ended: Ended) => void this.show(ended));
    client.middleware.executeCommand = async (command, args: unknown[], next): Promise<unknown> => {
      const argument = (args[0] ?? {}) as { readonly jobId?: string; readonly show?: boolean };
      const { jobId, show } = argument;
      if (command === "adacoder.server.status") return commands.executeCommand("adacoder.menu");
      if (command === "adacoder.server.difference" && jobId !== undefined) return this.previews.open(jobId);
      if (command === "adacoder.server.journal" && show === true) {
        return this.journal.show(await execute(client, command, { ...argument, show: false }), jobId);
      }
      if (jobId !== undefined && /\.(?:insert|discard)$/.test(command)) await this.previews.close(jobId);
      return next(command, args);
    };
  }
}

function isLookedAt({ textDocument }: Ended): boolean {
  const document = window.activeTextEditor?.document;
  return document?.uri.toString() === Uri.parse(textDocument.uri).toString() && document.version === textDocument.version;
}
