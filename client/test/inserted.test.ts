/** Keep and Undo after an edit of the server, in a document that a person changes as well. */

import { expect, test, vi } from "vitest";
import type { TextDocument } from "vscode";

import type { Change } from "../src/hunks";
import { Insertions } from "../src/inserted";
import type { Server } from "../src/server";

interface Edit {
  readonly changes: Change[];
}

const editor = vi.hoisted(() => ({
  listeners: [] as ((event: unknown) => void)[],
  commands: new Map<string, (id?: number) => unknown>(),
  documents: [] as unknown[],
  accepts: true,
  told: [] as string[],
  edit: null as ((change: Change) => void) | null,
}));

vi.mock("vscode-languageclient/node", () => ({}));
vi.mock("../src/preview", () => ({}));
vi.mock("../src/messages", () => ({ tell: (message: string) => editor.told.push(message) }));
vi.mock("vscode", () => {
  const nothing = { dispose: (): void => undefined };
  const ignored = (): typeof nothing => nothing;
  return {
    CodeLens: class {
      constructor(
        readonly range: unknown,
        readonly command: unknown,
      ) {}
    },
    Range: class {
      constructor(
        readonly start: unknown,
        readonly end: unknown,
      ) {}
    },
    WorkspaceEdit: class implements Edit {
      readonly changes: Change[] = [];
      replace(_: unknown, { start, end }: { start: { offset: number }; end: { offset: number } }, text: string): void {
        this.changes.push({ rangeOffset: start.offset, rangeLength: end.offset - start.offset, text });
      }
    },
    EventEmitter: class {
      event = ignored;
      fire = ignored;
    },
    CancellationTokenSource: class {
      token = {};
    },
    ThemeColor: vi.fn(),
    OverviewRulerLane: {},
    l10n: { t: (text: string) => text },
    commands: {
      executeCommand: ignored,
      registerCommand: (name: string, act: (id?: number) => unknown) => (editor.commands.set(name, act), nothing),
    },
    languages: { registerCodeLensProvider: ignored },
    window: {
      createTextEditorDecorationType: ignored,
      onDidChangeVisibleTextEditors: ignored,
      onDidChangeActiveTextEditor: ignored,
      visibleTextEditors: [],
      get activeTextEditor() {
        return { document: editor.documents[0] };
      },
    },
    workspace: {
      onDidChangeTextDocument: (listener: (event: unknown) => void) => (editor.listeners.push(listener), nothing),
      onDidCloseTextDocument: ignored,
      registerTextDocumentContentProvider: ignored,
      getConfiguration: () => ({ get: () => true }),
      get textDocuments() {
        return editor.documents;
      },
      applyEdit: ({ changes }: Edit): Promise<boolean> => {
        if (editor.accepts) for (const change of [...changes].reverse()) editor.edit?.(change);
        return Promise.resolve(editor.accepts);
      },
    },
  };
});

type Handle = (params: unknown, next: () => Promise<{ applied: boolean }>) => Promise<unknown>;

const STUB = "def f():\n    ...\n";
const BODY: Change = { rangeOffset: 13, rangeLength: 3, text: "return 1" };
const EDIT = { edit: { changes: { "file:///a.py": [] } } };

/** A document, the client's part for edits of the server, and a way to change the text. */
function opened(): { text: () => string; handle: Handle; type: (...changes: Change[]) => void; lenses: () => number } {
  Object.assign(editor, { listeners: [], documents: [], accepts: true, told: [] });
  let text = STUB;
  const document = {
    uri: { toString: () => "file:///a.py" },
    getText: () => text,
    positionAt: (offset: number) => ({ line: text.slice(0, offset).split("\n").length - 1, offset }),
  };
  editor.documents.push(document);
  const type = (...changes: Change[]): void => {
    for (const { rangeOffset, rangeLength, text: typed } of changes) {
      text = text.slice(0, rangeOffset) + typed + text.slice(rangeOffset + rangeLength);
    }
    for (const each of editor.listeners) each({ document, contentChanges: changes });
  };
  editor.edit = type;
  const middleware: { workspace?: { handleApplyEdit?: Handle } } = {};
  const client = { middleware, protocol2CodeConverter: { asUri: (uri: string) => ({ toString: () => uri }) } };
  let begin: () => void = () => undefined;
  const server = { current: client, onDidChange: (listener: () => void) => ((begin = listener), { dispose: () => undefined }) };
  const insertions = new Insertions(server as unknown as Server);
  begin();
  const handle: Handle = (...call) => middleware.workspace?.handleApplyEdit?.(...call) ?? Promise.reject(new Error("not met"));
  return { text: () => text, handle, type, lenses: () => insertions.provideCodeLenses(document as unknown as TextDocument).length };
}

test("Undo takes back the insertion, and typing keeps it", async () => {
  for (const isUndone of [true, false]) {
    const { text, handle, type, lenses } = opened();
    await handle(EDIT, () => Promise.resolve((type(BODY), { applied: true })));
    expect([text(), lenses()]).toEqual(["def f():\n    return 1\n", 3]);
    if (isUndone) await editor.commands.get("adacoder.undoInsertion")?.();
    else type({ rangeOffset: 0, rangeLength: 0, text: "# Mine\n" });
    expect([text(), lenses()]).toEqual([isUndone ? STUB : "# Mine\ndef f():\n    return 1\n", 0]);
  }
});

test.each([false, true])("Undo leaves an import that a later insertion uses, unless the edit was refused: %s", async (isRefused) => {
  const { text, handle, type } = opened();
  type({ rangeOffset: STUB.length, rangeLength: 0, text: "def g():\n    ...\n" });
  const before = text();
  const imports: Change = { rangeOffset: 0, rangeLength: 0, text: "import math\nimport re\n" };
  await handle(EDIT, () => Promise.resolve((type({ ...BODY, text: "return math.pi" }, imports), { applied: true })));
  const one = text();
  const later: Change = { rangeOffset: one.lastIndexOf("..."), rangeLength: 3, text: "return math.e" };
  await handle(EDIT, () => Promise.resolve((type(later), { applied: true })));
  if (isRefused) {
    editor.accepts = false;
    await editor.commands.get("adacoder.undoInsertion")?.(1);
    editor.accepts = true;
    await editor.commands.get("adacoder.undoInsertion")?.(2);
    expect(text()).toBe(one);
    return;
  }
  await editor.commands.get("adacoder.undoInsertion")?.(1);
  expect(text()).toBe(imports.text + before.replace(/\.\.\.\n$/, "return math.e\n"));
  await editor.commands.get("adacoder.undoInsertion")?.(2);
  expect(text()).toBe(before);
});

test("a refused edit is not shown, even if the user types meanwhile", async () => {
  const { text, handle, type, lenses } = opened();
  await handle(EDIT, () => Promise.resolve((type({ ...BODY, text: "mine()" }), { applied: false })));
  expect([text(), lenses()]).toEqual(["def f():\n    mine()\n", 0]);
});

test("an insertion that was refused to be undone keeps its lenses and causes a message", async () => {
  const { text, handle, type, lenses } = opened();
  await handle(EDIT, () => Promise.resolve((type(BODY), { applied: true })));
  editor.accepts = false;
  await editor.commands.get("adacoder.undoInsertion")?.();
  expect([text(), lenses(), editor.told.length]).toEqual(["def f():\n    return 1\n", 3, 1]);
});

test("two edits at once are not shown, and nothing waits for the other", async () => {
  const { text, handle, type, lenses } = opened();
  let end: () => void = () => undefined;
  const first = handle(EDIT, async () => {
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    type(BODY);
    return { applied: true };
  });
  await handle(EDIT, () => Promise.resolve((type({ rangeOffset: 0, rangeLength: 0, text: "" }), { applied: true })));
  end();
  await first;
  expect([text(), lenses()]).toEqual(["def f():\n    return 1\n", 0]);
});
