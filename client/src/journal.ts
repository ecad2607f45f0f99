/** The journal of the latest request, as a document that is only for reading. */

import { EventEmitter, Uri, window, type TextDocumentContentProvider } from "vscode";

export class JournalDocument implements TextDocumentContentProvider {
  static readonly SCHEME = "adacoder-journal";
  private static readonly URI = Uri.from({ scheme: JournalDocument.SCHEME, path: "/AdaCoder Journal.md" });

  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private text = "";

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
    this.changed.fire(JournalDocument.URI);
    await window.showTextDocument(JournalDocument.URI, { preview: false });
  }
}
