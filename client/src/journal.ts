/** The journal of a job, as rendered Markdown. */

import { EventEmitter, Uri, commands, window, workspace, type TextDocumentContentProvider } from "vscode";

const SCHEME = "adacoder-journal";
const JOURNAL = Uri.from({ scheme: SCHEME, path: "/AdaCoder Journal.md" });

export class JournalDocument implements TextDocumentContentProvider {
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = workspace.registerTextDocumentContentProvider(SCHEME, this);
  private text = "";

  dispose(): void {
    this.registration.dispose();
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  /** Shows what the server answered, in place of what was shown before; null if it has not done anything yet. */
  async show(journal: unknown): Promise<void> {
    const { markdown } = (journal ?? {}) as { markdown?: string };
    if (markdown === undefined) {
      void window.showInformationMessage("AdaCoder has no journal yet: generate, fix or check a function first.");
      return;
    }
    this.text = markdown;
    this.changed.fire(JOURNAL);
    await commands.executeCommand("markdown.showPreview", JOURNAL);
  }
}
