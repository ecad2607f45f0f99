/** Previews of kept results: a diff editor next to the text, with Insert and Discard in its title. */

import {
  EventEmitter,
  TabInputTextDiff,
  Uri,
  commands,
  l10n,
  window,
  workspace,
  type Disposable,
  type Tab,
  type TextDocumentContentProvider,
} from "vscode";

import { tell } from "./messages";
import { execute } from "./requests";
import type { Server } from "./server";

const SCHEME = "adacoder-preview";
const PAUSE_MS = 300;

/** A kept result. */
export interface Kept {
  readonly jobId: string;
  readonly uri: string;
  readonly qualifiedName: string;
  readonly title: string;
}

interface Difference extends Kept {
  /** The document's text with the result in it. */
  readonly newText: string;
  readonly reason: null;
}

/** The previews of a window. */
export class Previews implements TextDocumentContentProvider {
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private readonly disposables: Disposable[];
  private waiting: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.disposables = [
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      commands.registerCommand("adacoder.insertResult", (uri?: Uri) => this.insert(this.jobOf(uri))),
      commands.registerCommand("adacoder.discardResult", (uri?: Uri) => this.discard(this.jobOf(uri))),
      workspace.onDidChangeTextDocument(({ document }) => {
        this.follow(document.uri);
      }),
      server.onDidChange(({ kind }) => {
        if (kind === "running") for (const { input } of previews()) this.changed.fire(input.modified);
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.waiting);
    for (const each of this.disposables) each.dispose();
  }

  /** The kept results, the latest first. */
  async kept(): Promise<readonly Kept[]> {
    return (await this.server.current?.sendRequest<{ items: Kept[] }>("adacoder/kept", {}))?.items ?? [];
  }

  async provideTextDocumentContent(uri: Uri): Promise<string> {
    const found = await this.difference(uri.query);
    return typeof found === "string" ? `# ${found}\n` : found.newText;
  }

  /** Opens the diff editor of a result. */
  async open(jobId: string): Promise<void> {
    const found = await this.difference(jobId);
    if (typeof found === "string") {
      void tell(found, { isGood: false });
      return;
    }
    const file = Uri.parse(found.uri);
    const right = otherText(file, SCHEME, jobId);
    this.changed.fire(right);
    await commands.executeCommand("vscode.diff", file, right, found.title);
  }

  /** Lets the server insert a result. The server first evaluates the result in the current text. */
  async insert(jobId: string | undefined): Promise<void> {
    await this.act("adacoder.server.insert", jobId);
  }

  async discard(jobId: string | undefined): Promise<void> {
    await this.act("adacoder.server.discard", jobId);
  }

  /** Closes the diff editor of a result. */
  async close(jobId: string): Promise<void> {
    await window.tabGroups.close(previews().filter(({ input }) => input.modified.query === jobId).map(({ tab }) => tab));
  }

  private async act(command: string, jobId: string | undefined): Promise<void> {
    const client = jobId === undefined ? undefined : await this.server.running();
    if (client === undefined || jobId === undefined) return;
    await this.close(jobId);
    await execute(client, command, { jobId });
  }

  /** The change that a result would make, or a string that says why it cannot be shown. */
  private async difference(jobId: string): Promise<Difference | string> {
    const client = this.server.current;
    if (client === undefined) return l10n.t("AdaCoder's server is not running: restart it to see this result.");
    const answer = await execute(client, "adacoder.server.difference", { jobId, show: false });
    const found = answer as Difference | { readonly reason: string };
    return "newText" in found ? found : found.reason;
  }

  /** Updates the previews of a document once it has not changed for a moment. */
  private follow(uri: Uri): void {
    const shown = previews().filter(({ input }) => input.original.toString() === uri.toString());
    if (shown.length === 0) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      for (const { input } of shown) this.changed.fire(input.modified);
    }, PAUSE_MS);
  }

  private jobOf(uri: Uri | undefined): string | undefined {
    if (uri?.scheme === SCHEME) return uri.query;
    const input = window.tabGroups.activeTabGroup.activeTab?.input;
    return input instanceof TabInputTextDiff && input.modified.scheme === SCHEME ? input.modified.query : undefined;
  }
}

/** The URI of another version of a document. Its suffix makes VS Code highlight Python. */
export function otherText(document: Uri, scheme: string, query: string): Uri {
  const path = /\.(?:py|md|rst)$/.test(document.path) ? document.path : `${document.path}.py`;
  return document.with({ scheme, path, query });
}

function previews(): { readonly tab: Tab; readonly input: TabInputTextDiff }[] {
  return window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap((tab) =>
      tab.input instanceof TabInputTextDiff && tab.input.modified.scheme === SCHEME ? [{ tab, input: tab.input }] : [],
    );
}
