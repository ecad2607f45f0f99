/** Shows the server's changes of a text, with Keep, Undo and Show Changes, until the user's next edit. */

import {
  CodeLens,
  EventEmitter,
  OverviewRulerLane,
  Range,
  ThemeColor,
  Uri,
  CancellationTokenSource,
  WorkspaceEdit,
  commands,
  l10n,
  languages,
  window,
  workspace,
  type CodeLensProvider,
  type TextDocument,
  type TextDocumentChangeEvent,
  type TextDocumentContentProvider,
} from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, ResponseError } from "vscode-languageclient/node";

import { headerOf, hunksOf, isNeeded, moved, undone, type Change, type Hunk } from "./hunks";
import { tell } from "./messages";
import { otherText } from "./preview";
import type { Client, Server } from "./server";

const SCHEME = "adacoder-before";
const HAS_INSERTION = "adacoder.hasInsertion";
const LENSES = {
  "adacoder.keepInsertion": l10n.t("Keep"),
  "adacoder.undoInsertion": l10n.t("Undo"),
  "adacoder.showInsertion": l10n.t("Show Changes"),
};

/** The server cannot cancel its edit. */
const NOT_CANCELLED = new CancellationTokenSource().token;

interface Insertion {
  readonly id: number;
  readonly document: TextDocument;
  readonly hunks: readonly Hunk[];
}

/** The edits that the server made in one window. The user's next edit of a document accepts those in it. */
export class Insertions implements CodeLensProvider, TextDocumentContentProvider {
  private shown: readonly Insertion[] = [];
  private count = 0;
  /** Documents that the server or Undo is editing, with the changes that VS Code has reported meanwhile. */
  private readonly edited = new Map<TextDocument, (readonly Change[])[]>();
  private readonly known = new WeakSet<Client>();
  private readonly changed = new EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly style = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new ThemeColor("diffEditorOverview.insertedForeground"),
    overviewRulerLane: OverviewRulerLane.Full,
  });
  private readonly listening: readonly { dispose(): unknown }[];

  constructor(server: Server) {
    const onInsertion = (command: string, act: (insertion: Insertion) => unknown): { dispose(): unknown } =>
      commands.registerCommand(command, (id?: number) => {
        const found = id === undefined ? this.of(window.activeTextEditor?.document).at(-1) : this.shown.find((each) => each.id === id);
        return found && act(found);
      });
    this.listening = [
      server.onDidChange(() => {
        if (server.current !== undefined) this.meet(server.current);
      }),
      workspace.onDidChangeTextDocument((event) => {
        this.follow(event);
      }),
      workspace.onDidCloseTextDocument((document) => {
        if (this.of(document).length > 0) this.put(this.shown.filter((each) => each.document !== document));
      }),
      window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
      window.onDidChangeActiveTextEditor(() => {
        this.draw();
      }),
      languages.registerCodeLensProvider(["python", "markdown", "restructuredtext"], this),
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      onInsertion("adacoder.keepInsertion", ({ id }) => {
        this.put(this.shown.filter((each) => each.id !== id));
      }),
      onInsertion("adacoder.undoInsertion", (insertion) => this.undo(insertion)),
      onInsertion("adacoder.showInsertion", compare),
    ];
  }

  dispose(): void {
    for (const each of [...this.listening, this.style]) each.dispose();
  }

  provideCodeLenses(document: TextDocument): CodeLens[] {
    const insertions = this.of(document);
    if (insertions.length === 0 || workspace.getConfiguration("adacoder", document.uri).get("codeLens") === false) return [];
    const lines = document.getText().split(/\r?\n/);
    return insertions.flatMap(({ id, hunks }) => {
      const ranges = hunks.map((hunk) => linesOf(document, hunk));
      const line = headerOf(lines, ranges.map(({ start, end }) => ({ first: start.line, last: end.line })));
      return Object.entries(LENSES).map(
        ([command, title]) => new CodeLens(new Range(line, 0, line, 0), { title, command, arguments: [id] }),
      );
    });
  }

  /** The text of a document as it would be without an insertion. */
  provideTextDocumentContent({ query }: Uri): string {
    const found = this.shown.find(({ id }) => String(id) === query);
    return found === undefined ? "" : undone(found.document.getText(), found.hunks);
  }

  private of(document: TextDocument | undefined): Insertion[] {
    return this.shown.filter((each) => each.document === document);
  }

  private meet(client: Client): void {
    if (this.known.has(client)) return;
    this.known.add(client);
    const middleware = (client.middleware.workspace ??= {});
    middleware.handleApplyEdit = async (params, next): Promise<ApplyWorkspaceEditResult | ResponseError> => {
      const document = documentOf(client, params);
      if (document === undefined) return next(params, NOT_CANCELLED);
      return this.during(document, async (changes) => {
        const before = document.getText();
        const answer = await next(params, NOT_CANCELLED);
        const isMade = "applied" in answer && answer.applied && changes.length === 1;
        const hunks = isMade ? hunksOf(changes[0] ?? [], before, document.getText()) : undefined;
        if (hunks !== undefined) this.put([...this.shown, { id: ++this.count, document, hunks }]);
        return answer;
      });
    };
  }

  /**
   * Makes an edit of a document. `edit` gets the changes that are reported meanwhile, a list for each version. It gets
   * no changes if another edit of the document is not finished.
   */
  private async during<R>(document: TextDocument, edit: (changes: readonly (readonly Change[])[]) => Promise<R>): Promise<R> {
    if (this.edited.has(document)) return edit([]);
    const changes: (readonly Change[])[] = [];
    this.edited.set(document, changes);
    try {
      return await edit(changes);
    } finally {
      this.edited.delete(document);
    }
  }

  /** Adjusts the places of insertions after an edit by AdaCoder. An edit by the user accepts them. */
  private follow({ document, contentChanges }: TextDocumentChangeEvent): void {
    if (contentChanges.length === 0) return;
    const ours = this.edited.get(document);
    ours?.push(contentChanges);
    if (this.of(document).length === 0) return;
    const kept = this.shown.flatMap((insertion) => {
      if (insertion.document !== document) return [insertion];
      const hunks = ours && moved(insertion.hunks, contentChanges);
      return hunks === undefined ? [] : [{ ...insertion, hunks }];
    });
    this.put(kept);
  }

  /** Restores the replaced text, as one edit that can itself be undone. */
  private async undo({ id, document }: Insertion): Promise<void> {
    const before = this.shown;
    this.leaveImports(id, document);
    const left = this.shown;
    const isUndone = await this.during(document, async () => {
      const found = this.shown.find((each) => each.id === id);
      if (found === undefined) return true; // the user has typed meanwhile
      const edit = new WorkspaceEdit();
      for (const hunk of found.hunks) edit.replace(document.uri, rangeOf(document, hunk), hunk.old);
      return workspace.applyEdit(edit);
    });
    if (isUndone) this.put(this.shown.filter((each) => each.id !== id));
    else {
      if (this.shown === left) this.put(before); // the insertion still needs its imports
      void tell(l10n.t("Not undone: the editor refused the edit. Press Undo again."), { isGood: false });
    }
  }

  /** Moves imports from an insertion to the first later insertion that uses them. */
  private leaveImports(id: number, document: TextDocument): void {
    const text = document.getText();
    const hunks = this.of(document).find((each) => each.id === id)?.hunks ?? [];
    for (const hunk of hunks) {
      const heir = this.of(document).find((each) => each.id > id && isNeeded(text, hunk, each.hunks));
      if (heir === undefined) continue;
      this.shown = this.shown.map((each) => {
        if (each.id === id) return { ...each, hunks: each.hunks.filter((other) => other !== hunk) };
        if (each.id !== heir.id) return each;
        return { ...each, hunks: [...each.hunks, hunk].sort((one, other) => one.offset - other.offset) };
      });
    }
  }

  private put(insertions: readonly Insertion[]): void {
    this.shown = insertions;
    this.changed.fire();
    this.draw();
  }

  private draw(): void {
    void commands.executeCommand("setContext", HAS_INSERTION, this.of(window.activeTextEditor?.document).length > 0);
    for (const editor of window.visibleTextEditors) {
      const hunks = this.of(editor.document).flatMap((insertion) => insertion.hunks);
      editor.setDecorations(this.style, hunks.filter(({ length }) => length > 0).map((hunk) => linesOf(editor.document, hunk)));
    }
  }
}

/** The open document that an edit of the server changes; undefined if it changes several. */
function documentOf(client: Client, { edit }: ApplyWorkspaceEditParams): TextDocument | undefined {
  const named = (edit.documentChanges ?? []).flatMap((each) => ("textDocument" in each ? [each.textDocument.uri] : []));
  const [uri, ...others] = new Set([...named, ...Object.keys(edit.changes ?? {})]);
  if (uri === undefined || others.length > 0) return undefined;
  const searched = client.protocol2CodeConverter.asUri(uri).toString();
  return workspace.textDocuments.find((document) => document.uri.toString() === searched);
}

async function compare({ id, document }: Insertion): Promise<void> {
  const before = otherText(document.uri, SCHEME, String(id));
  const name = document.uri.path.split("/").at(-1) ?? "";
  await commands.executeCommand("vscode.diff", before, document.uri, l10n.t("{0}: Before AdaCoder ↔ Now", name));
}

function rangeOf(document: TextDocument, { offset, length }: Hunk): Range {
  return new Range(document.positionAt(offset), document.positionAt(offset + length));
}

/** The lines of a hunk. A line terminator at its end belongs to its last line. */
function linesOf(document: TextDocument, { offset, length }: Hunk): Range {
  const text = document.getText().slice(offset, offset + length);
  const blank = (/^\s*\n/.exec(text) ?? [""])[0].length;
  return rangeOf(document, { offset: offset + blank, length: Math.max(text.trimEnd().length - blank, 0), old: "" });
}
