/** A fake of the part of VS Code that the client uses. It does nothing and records its calls. */

import { posix } from "node:path";
import { vi } from "vitest";

type Listener<T> = (value: T) => unknown;

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };

  /** Tells all, and waits until they have acted. */
  async fire(value: T): Promise<void> {
    await Promise.all([...this.listeners].map((listener) => listener(value)));
  }
}

export class CancellationTokenSource {
  private readonly cancelled = new EventEmitter<undefined>();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.cancelled.event };

  cancel(): void {
    this.token.isCancellationRequested = true;
    void this.cancelled.fire(undefined);
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}

  static parse(text: string): Uri {
    const { protocol, pathname, host } = new URL(text);
    return new Uri(protocol.slice(0, -1), host + pathname);
  }

  static file(path: string): Uri {
    return new Uri("file", path);
  }

  static from({ scheme, path }: { scheme: string; path: string }): Uri {
    return new Uri(scheme, path);
  }

  static joinPath(base: Uri, path: string): Uri {
    return new Uri(base.scheme, posix.join(base.path, path));
  }

  get fsPath(): string {
    return this.path;
  }

  toString(): string {
    return `${this.scheme}://${this.path}`;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Location {
  constructor(
    readonly uri: Uri,
    readonly range: unknown,
  ) {}
}

export class TestMessage {
  location: Location | undefined;
  expectedOutput: string | undefined;
  actualOutput: string | undefined;

  constructor(readonly message: string) {}

  static diff(message: string, expected: string, actual: string): TestMessage {
    return Object.assign(new TestMessage(message), { expectedOutput: expected, actualOutput: actual });
  }
}

export class BranchCoverage {
  constructor(
    readonly executed: boolean,
    readonly location: Position,
    readonly label: string,
  ) {}
}

export class StatementCoverage {
  constructor(
    readonly executed: boolean,
    readonly location: Position,
    readonly branches: readonly BranchCoverage[],
  ) {}
}

export class FileCoverage {
  private constructor(
    readonly uri: Uri,
    readonly details: readonly StatementCoverage[],
  ) {}

  static fromDetails(uri: Uri, details: readonly StatementCoverage[]): FileCoverage {
    return new FileCoverage(uri, details);
  }
}

export const TabInputTextDiff = vi.fn();
export const RelativePattern = vi.fn();
export const ThemeColor = vi.fn();
export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}
export class LanguageModelToolResult {
  constructor(readonly content: readonly LanguageModelTextPart[]) {}
}

export const TestRunProfileKind = { Run: 1, Debug: 2, Coverage: 3 };
export const LanguageStatusSeverity = { Information: 0, Warning: 1, Error: 2 };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };
export const ProgressLocation = { Notification: 15 };

class Items {
  private readonly items = new Map<string, TestItem>();
  constructor(private readonly parent?: TestItem) {}

  add(item: TestItem): void {
    item.parent = this.parent;
    this.items.set(item.id, item);
  }

  replace(items: readonly TestItem[]): void {
    this.items.clear();
    for (const item of items) this.add(item);
  }

  get(id: string): TestItem | undefined {
    return this.items.get(id);
  }

  delete(id: string): void {
    this.items.delete(id);
  }

  get size(): number {
    return this.items.size;
  }

  [Symbol.iterator](): IterableIterator<[string, TestItem]> {
    return this.items[Symbol.iterator]();
  }
}

export class TestItem {
  readonly children = new Items(this);
  parent: TestItem | undefined;
  canResolveChildren = false;
  busy = false;
  error: unknown;
  range: unknown;
  sortText = "";
  description: string | undefined;

  constructor(
    readonly id: string,
    public label: string,
    readonly uri?: Uri,
  ) {}
}

/** The events of a run, one line each. */
export class TestRun {
  readonly told: string[] = [];
  readonly messages: TestMessage[] = [];
  readonly covered: FileCoverage[] = [];
  /** The output of each test, by its label. */
  readonly outputs = new Map<string, string>();
  ended = false;

  constructor(
    readonly request: Request,
    readonly token: CancellationTokenSource["token"],
  ) {}

  started(item: TestItem): void {
    this.told.push(`started ${item.label}`);
  }

  passed(item: TestItem): void {
    this.told.push(`passed ${item.label}`);
  }

  skipped(item: TestItem): void {
    this.told.push(`skipped ${item.label}`);
  }

  failed(item: TestItem, message: TestMessage): void {
    this.told.push(`failed ${item.label}`);
    this.messages.push(message);
  }

  errored(item: TestItem, message: TestMessage): void {
    this.told.push(`errored ${item.label}`);
    this.messages.push(message);
  }

  addCoverage(coverage: FileCoverage): void {
    this.covered.push(coverage);
  }

  appendOutput(text: string, _location?: unknown, test?: TestItem): void {
    if (test === undefined) this.told.push(text.trim());
    else this.outputs.set(test.label, text);
  }

  end(): void {
    this.ended = true;
  }
}

export interface Request {
  readonly include?: readonly TestItem[] | undefined;
  readonly exclude?: readonly TestItem[] | undefined;
  readonly continuous?: boolean;
}

export class TestRunRequest implements Request {
  constructor(
    readonly include?: readonly TestItem[],
    readonly exclude?: readonly TestItem[],
    readonly profile?: unknown,
    readonly continuous = false,
  ) {}
}

type Handler = (request: Request, token: CancellationTokenSource["token"]) => Promise<void>;

interface Profile {
  readonly kind: number;
  readonly handler: Handler;
  readonly supportsContinuousRun: boolean;
  loadDetailedCoverage?: (run: unknown, file: FileCoverage) => Promise<readonly StatementCoverage[]>;
}

export class TestController {
  readonly items = new Items();
  readonly profiles: Profile[] = [];
  readonly runs: TestRun[] = [];
  private readonly tokens = new Map<Request, CancellationTokenSource["token"]>();
  resolveHandler: ((item?: TestItem) => Promise<void>) | undefined;
  refreshHandler: (() => Promise<void>) | undefined;

  createRunProfile(_label: string, kind: number, handler: Handler, _isDefault: boolean, _tag: unknown, continuous = false): Profile {
    const asked: Handler = (request, token) => {
      this.tokens.set(request, token);
      return handler(request, token);
    };
    const profile = { kind, handler: asked, supportsContinuousRun: continuous };
    this.profiles.push(profile);
    return profile;
  }

  createTestItem(id: string, label: string, uri?: Uri): TestItem {
    return new TestItem(id, label, uri);
  }

  /** With the token of whoever asked for it; what an extension starts by itself has its own. */
  createTestRun(request: Request): TestRun {
    const run = new TestRun(request, this.tokens.get(request) ?? new CancellationTokenSource().token);
    this.runs.push(run);
    return run;
  }

  dispose(): void {
    this.items.replace([]);
  }
}

export const controllers: TestController[] = [];
export const tests = {
  createTestController: (): TestController => {
    const controller = new TestController();
    controllers.push(controller);
    return controller;
  },
};

/** The files of the workspace, whose folders are `/project` and `/second`. */
export const files = new Map<string, string>();
/** Node's functions for files, which read {@link files}. */
export const disk = {
  readFile: (path: string): Promise<Buffer> => {
    const text = files.get(path);
    return text === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(Buffer.from(text));
  },
  access: (path: string): Promise<unknown> => disk.readFile(path),
};
/** The settings, by their full names. */
export const settings = new Map<string, unknown>();

export const changed = new EventEmitter<Uri>();
export const deleted = new EventEmitter<Uri>();
export const closed = new EventEmitter<{ uri: Uri }>();
export const edited = new EventEmitter<{ document: { uri: Uri } }>();
export const refoldered = new EventEmitter<undefined>();
export const saved = new EventEmitter<{ uri: Uri }>();
export const configured = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();
export const fronted = new EventEmitter<unknown>();
const silent = new EventEmitter<never>().event;
export const folders = ["project", "second"].map((name) => ({ name, uri: Uri.file(`/${name}`) }));
const inside = (uri: Uri): (typeof folders)[0] | undefined => folders.find((each) => uri.path.startsWith(`${each.uri.path}/`));

/** Translates texts by `bundle`, and puts the values in place of `{0}` and so on, as VS Code does. */
export const l10n = {
  bundle: undefined as Readonly<Record<string, string>> | undefined,
  t: (text: string, ...values: (string | number | boolean)[]): string =>
    (l10n.bundle?.[text] ?? text).replace(/\{(\d+)\}/g, (place, index: number) => String(values[index] ?? place)),
};

/** The installed extensions. */
export const installed = new Set<string>();
/** The interfaces of extensions, by the names of the extensions. */
export const apis = new Map<string, unknown>();
export const extensions = {
  getExtension: (id: string): object | undefined =>
    installed.has(id) || apis.has(id) ? { activate: () => Promise.resolve(apis.get(id)) } : undefined,
};
export const debug = { startDebugging: vi.fn<(folder: unknown, configuration: object) => Promise<boolean>>(() => Promise.resolve(true)) };

export const workspace = {
  isTrusted: true,
  workspaceFolders: folders,
  textDocuments: [] as { uri: Uri; languageId: string; isDirty?: boolean; version?: number; getText?: () => string }[],
  findFiles: (): Promise<Uri[]> => Promise.resolve([...files.keys()].map((path) => Uri.file(path))),
  createFileSystemWatcher: () => ({
    onDidCreate: changed.event,
    onDidChange: changed.event,
    onDidDelete: deleted.event,
    dispose: () => undefined,
  }),
  getWorkspaceFolder: inside,
  asRelativePath: (uri: Uri): string => uri.path.replace("/project/", ""),
  getConfiguration: () => ({
    get: (name: string, otherwise?: unknown): unknown => settings.get(name) ?? otherwise,
    inspect: (name: string): object => ({ globalValue: settings.get(name) }),
  }),
  registerTextDocumentContentProvider: () => ({ dispose: () => undefined }),
  onDidOpenTextDocument: silent,
  onDidChangeTextDocument: edited.event,
  onDidCloseTextDocument: closed.event,
  onDidChangeWorkspaceFolders: refoldered.event,
  onDidGrantWorkspaceTrust: silent,
  onDidSaveTextDocument: saved.event,
  onDidChangeConfiguration: configured.event,
};

/** The user's answer to a message with buttons: none, unless a test sets one. */
const answer = vi.fn<(...shown: unknown[]) => Promise<string | undefined>>(() => Promise.resolve(undefined));
export const window = {
  activeTextEditor: undefined as { document: { uri: Uri; languageId: string } } | undefined,
  tabGroups: { all: [], close: vi.fn(() => Promise.resolve()) },
  showErrorMessage: answer,
  showWarningMessage: answer,
  showInformationMessage: answer,
  createStatusBarItem: () => ({ show: vi.fn(), hide: vi.fn(), dispose: vi.fn() }),
  onDidChangeActiveTextEditor: fronted.event,
  createTerminal: vi.fn<(options: { readonly shellPath: string }) => { show: () => void }>(() => ({ show: vi.fn() })),
};
export const languages = { createLanguageStatusItem: () => ({ dispose: vi.fn() }) };
export const env = {
  remoteName: undefined as string | undefined,
  openExternal: vi.fn((uri: Uri) => Promise.resolve(uri.toString() !== "")),
};
export const commands = {
  registerCommand: () => ({ dispose: () => undefined }),
  executeCommand: vi.fn<(...command: unknown[]) => Promise<void>>(() => Promise.resolve()),
};

/** The tools that chats are offered, by their names. */
export const offered = new Map<string, unknown>();
export const lm = {
  registerTool: (name: string, tool: unknown) => {
    offered.set(name, tool);
    return { dispose: () => offered.delete(name) };
  },
};
