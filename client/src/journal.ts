/** The journal of a job, as rendered Markdown. */

import { EventEmitter, Uri, commands, l10n, workspace, type TextDocumentContentProvider } from "vscode";

import { tell } from "./messages";

const SCHEME = "adacoder-journal";
const JOURNAL = Uri.from({ scheme: SCHEME, path: `/${l10n.t("AdaCoder Journal")}.md` });

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

  /** Shows a journal in place of the previous one. null: there is no journal, or none for this job. */
  async show(journal: unknown, jobId: string | undefined): Promise<void> {
    const { markdown } = (journal ?? {}) as { markdown?: string };
    if (markdown === undefined) {
      const none = l10n.t("No journal yet: generate, fix or check a function first.");
      void tell(jobId === undefined ? none : l10n.t("That journal is gone: only the latest are kept."), { isGood: true });
      return;
    }
    this.text = markdown;
    this.changed.fire(JOURNAL);
    await commands.executeCommand("markdown.showPreview", JOURNAL);
  }
}
