/** Shows a model's growing reply next to the function. The document does not change. */

import { Position, Range, ThemeColor, commands, window, workspace, type DecorationOptions, type TextEditor } from "vscode";

import type { Client, Server } from "./server";
import { rows, type Writing } from "./writing-rows";

/** The notification of the server. */
const WRITING = "adacoder/writing";
const SETTING = "adacoder.showWriting";
const IS_SHOWN = "adacoder.isWriting";

/** The growing replies of one server's jobs. Typing in the file or pressing Escape hides a reply. */
export class LiveReplies {
  private readonly shown = new Map<string, Writing>();
  private readonly hidden = new Set<string>();
  /** The value to which the context key was set last. */
  private isShown = false;
  private readonly known = new WeakSet<Client>();
  private readonly style = window.createTextEditorDecorationType({
    after: { color: new ThemeColor("editorGhostText.foreground"), fontStyle: "italic" },
  });
  private readonly listening: readonly { dispose(): unknown }[];

  constructor(server: Server) {
    this.listening = [
      server.onDidChange(() => {
        if (server.current === undefined) this.forget();
        else this.meet(server.current);
      }),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.hide(({ uri }) => uri === document.uri.toString());
      }),
      window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
      commands.registerCommand("adacoder.hideWriting", () => {
        this.hide(() => true);
      }),
    ];
  }

  dispose(): void {
    for (const each of [...this.listening, this.style]) each.dispose();
  }

  private meet(client: Client): void {
    if (this.known.has(client)) return;
    this.known.add(client);
    client.onNotification(WRITING, (writing: Writing) => {
      this.take({ ...writing, uri: client.protocol2CodeConverter.asUri(writing.uri).toString() });
    });
  }

  private take(writing: Writing): void {
    const { jobId, ended } = writing;
    const isOn = workspace.getConfiguration().get<boolean>(SETTING) !== false;
    if (ended === true) this.hidden.delete(jobId);
    if (ended === true || !isOn) this.shown.delete(jobId);
    else if (!this.hidden.has(jobId)) this.shown.set(jobId, writing);
    this.draw();
  }

  /** Forgets the jobs of a server that is gone, because it will not report their ends. */
  private forget(): void {
    this.shown.clear();
    this.hidden.clear();
    this.draw();
  }

  /** Hides the replies until their jobs have ended. The jobs go on. */
  private hide(isMeant: (writing: Writing) => boolean): void {
    for (const writing of [...this.shown.values()].filter(isMeant)) {
      this.shown.delete(writing.jobId);
      this.hidden.add(writing.jobId);
    }
    this.draw();
  }

  private draw(): void {
    if (this.isShown !== this.shown.size > 0) {
      this.isShown = this.shown.size > 0;
      void commands.executeCommand("setContext", IS_SHOWN, this.isShown);
    }
    for (const editor of window.visibleTextEditors) {
      const uri = editor.document.uri.toString();
      const here = [...this.shown.values()].filter((each) => each.uri === uri && each.version === editor.document.version);
      editor.setDecorations(this.style, here.flatMap((writing) => decorations(editor, writing)));
    }
  }
}

function decorations({ document, options }: TextEditor, writing: Writing): DecorationOptions[] {
  const lines: string[] = [];
  for (let line = writing.first; line <= writing.last; line++) lines.push(document.lineAt(line).text);
  const tab = typeof options.tabSize === "number" ? options.tabSize : 4;
  return rows(lines, writing, tab).map(({ text, columns }, index) => {
    const end = new Position(writing.first + index, lines[index]?.length ?? 0);
    const after = { contentText: text, margin: `0 0 0 ${String(columns)}ch` };
    return { range: new Range(end, end), renderOptions: { after } };
  });
}
