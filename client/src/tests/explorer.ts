/** The Test Explorer: the examples of docstrings as tests. What they are and whether they pass, the server tells. */

import { randomUUID } from "node:crypto";
import {
  BranchCoverage,
  FileCoverage,
  Location,
  Position,
  RelativePattern,
  StatementCoverage,
  TestMessage,
  TestRunProfileKind,
  TestRunRequest,
  Uri,
  commands,
  tests,
  window,
  workspace,
  type CancellationToken,
  type FileCoverageDetail,
  type TestController,
  type TestItem,
  type TestRun,
  type TextDocument,
} from "vscode";
import { ProgressType } from "vscode-languageclient/node";

import { isCancelled } from "../requests";
import type { Server } from "../server";
import { CHECK, fileOf, lines, told, type CheckAnswer, type Coverage, type DocstringResult, type Failed } from "./results";
import { EXAMPLES, tree, type ExamplesAnswer, type Node } from "./tree";

/** Where no examples of the project's own are. What searches takes no braces within braces. */
const EXCLUDED = "{**/.*/**,**/node_modules/**,**/site-packages/**,**/__pycache__/**,**/venv/**}";
/** Folders of built files, unless they are packages. */
const OUTPUT = /\/(?:build|dist)(?=\/)/g;
const MOST_FILES = 5000;
const PAUSE_MS = 500;
const PROMPT = Buffer.from(">>> ");
const PARTS = new ProgressType<CheckAnswer>();

/** Shows the examples of all Python files of the workspace as tests. */
export function registerTests(server: Server): { dispose(): unknown }[] {
  return [new Explorer(server)];
}

class Explorer {
  private readonly controller: TestController = tests.createTestController("adacoder", "AdaCoder Examples");
  private readonly nodes = new WeakMap<TestItem, Node>();
  private readonly details = new WeakMap<FileCoverage, FileCoverageDetail[]>();
  private readonly asked = new WeakMap<TestItem, symbol>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    this.controller.resolveHandler = (item) => (item === undefined ? this.discover() : this.look(item));
    this.controller.refreshHandler = () => this.discover();
    this.controller.createRunProfile("Run", TestRunProfileKind.Run, this.handler(false), true, undefined, true);
    const coverage = this.controller.createRunProfile(
      "Run with Coverage",
      TestRunProfileKind.Coverage,
      this.handler(true),
      true,
      undefined,
      true,
    );
    coverage.loadDetailedCoverage = (_run, file) => Promise.resolve(this.details.get(file) ?? []);
    const watcher = workspace.createFileSystemWatcher("**/*.py");
    // Of a folder that is deleted only the folder is told.
    const gone = workspace.createFileSystemWatcher("**", true, true);
    const follow = (uri: Uri): void => {
      this.follow(uri);
    };
    this.disposables = [
      this.controller,
      watcher,
      watcher.onDidCreate(follow),
      watcher.onDidChange(follow),
      gone,
      gone.onDidDelete((uri) => {
        this.forget((each) => isWithin(each, uri));
      }),
      workspace.onDidOpenTextDocument(({ uri }) => {
        this.follow(uri);
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        this.follow(document.uri);
      }),
      workspace.onDidCloseTextDocument(({ uri }) => {
        this.follow(uri);
      }),
      workspace.onDidChangeWorkspaceFolders(() => this.discover()),
      workspace.onDidGrantWorkspaceTrust(() => this.discover()),
      server.onDidChange(({ kind }) => {
        if (kind === "running") this.followAll();
      }),
    ];
  }

  dispose(): void {
    for (const each of this.waiting.values()) clearTimeout(each);
    for (const each of this.disposables) each.dispose();
  }

  /**
   * Lists the files that look as if they had examples; what is in them is asked when somebody wants to see it. What is
   * listed and is no more goes.
   */
  private async discover(): Promise<void> {
    this.forget((uri) => !isOurs(uri));
    this.followAll();
    for (const [id, { uri }] of [...this.controller.items]) {
      if (uri !== undefined && openAt(uri) === undefined && !(await hasPrompt(uri))) this.controller.items.delete(id);
    }
    if (!workspace.isTrusted) return;
    for (const folder of workspace.workspaceFolders ?? []) {
      for (const uri of await workspace.findFiles(new RelativePattern(folder, "**/*.py"), EXCLUDED, MOST_FILES)) {
        const isNew = isOurs(uri) && this.controller.items.get(uri.toString()) === undefined;
        if (isNew && (await isOwn(uri, folder.uri)) && (await hasPrompt(uri))) this.file(uri);
      }
    }
  }

  /** Brings all files up to date that somebody has looked into, or that are open. */
  private followAll(): void {
    const seen = [...this.controller.items].flatMap(([, item]) => (item.canResolveChildren ? [] : [item]));
    for (const { uri } of [...seen, ...workspace.textDocuments]) if (uri !== undefined) this.follow(uri);
  }

  /** Takes files from the list. */
  private forget(isGone: (uri: Uri) => boolean): void {
    for (const [id, { uri }] of [...this.controller.items]) {
      if (uri !== undefined && isGone(uri)) this.controller.items.delete(id);
    }
  }

  private file(uri: Uri): TestItem {
    const known = this.controller.items.get(uri.toString());
    if (known !== undefined) return known;
    const item = this.controller.createTestItem(uri.toString(), workspace.asRelativePath(uri), uri);
    item.canResolveChildren = true;
    this.controller.items.add(item);
    return item;
  }

  /** Has a file's examples shown, for which the server is started if need be. */
  private async look(item: TestItem): Promise<void> {
    if ((await this.server.running()) !== undefined) await this.resolve(item);
  }

  /** Brings a file of the workspace up to date once nothing happens to it for a moment. */
  private follow(uri: Uri): void {
    if (!isOurs(uri)) return;
    const name = uri.toString();
    clearTimeout(this.waiting.get(name));
    const again = async (): Promise<void> => {
      this.waiting.delete(name);
      if (openAt(uri) !== undefined || (await hasPrompt(uri))) await this.resolve(this.file(uri));
      else this.controller.items.delete(name);
    };
    this.waiting.set(
      name,
      setTimeout(() => void again(), PAUSE_MS),
    );
  }

  /** Asks what is in a file. A file without examples is no test. */
  private async resolve(item: TestItem): Promise<void> {
    const client = this.server.current;
    if (client === undefined || item.uri === undefined || item.parent !== undefined) return;
    const asked = Symbol(item.id);
    this.asked.set(item, asked);
    item.busy = true;
    try {
      const params = { textDocument: { uri: client.code2ProtocolConverter.asUri(item.uri) } };
      const { items, reason } = await client.sendRequest<ExamplesAnswer>(EXAMPLES, params);
      if (this.asked.get(item) !== asked) return; // what was asked later knows better, whichever answer comes first
      const nodes = tree(item.id, items);
      this.fill(item, nodes);
      item.canResolveChildren = false;
      item.error = reason ?? undefined;
      // The server gives a reason for a deleted file as well.
      const isBroken = item.error !== undefined && (await hasPrompt(item.uri));
      if (nodes.length === 0 && !isBroken) this.controller.items.delete(item.id);
    } catch (error) {
      if (!isCancelled(error)) item.error = String(error);
    } finally {
      item.busy = false;
    }
  }

  /** Makes the children of an item those of `nodes`; a test that there was stays, with its result. */
  private fill(parent: TestItem, nodes: readonly Node[]): void {
    const items = nodes.map((node) => {
      const item = parent.children.get(node.id) ?? this.controller.createTestItem(node.id, node.label, parent.uri);
      item.label = node.label;
      item.range = this.server.current?.protocol2CodeConverter.asRange(node.range);
      item.sortText = String(node.range.start.line).padStart(8, "0");
      this.nodes.set(item, node);
      this.fill(item, node.children);
      return item;
    });
    parent.children.replace(items);
  }

  /** Whether a test is still there. */
  private isListed(item: TestItem): boolean {
    const { parent } = item;
    if (parent === undefined) return this.controller.items.get(item.id) === item;
    return parent.children.get(item.id) === item && this.isListed(parent);
  }

  private handler(covers: boolean) {
    return async (request: TestRunRequest, cancellation: CancellationToken): Promise<void> => {
      if (request.continuous !== true) {
        await this.run(request, covers);
        return;
      }
      const saving = workspace.onDidSaveTextDocument(async ({ uri }) => {
        if (!isOurs(uri)) return;
        await this.resolve(this.file(uri));
        await this.run(request, covers, uri);
      });
      cancellation.onCancellationRequested(() => {
        saving.dispose();
      });
    };
  }

  /** Runs what is asked for in one request; with `only` no more of it than what is in that file. */
  private async run(request: TestRunRequest, covers: boolean, only?: Uri): Promise<void> {
    const client = await this.server.running();
    if (client === undefined) return;
    if (request.include === undefined && only === undefined) await this.discover();
    const all = request.include ?? [...this.controller.items].map(([, item]) => item);
    const include = all.filter(({ uri }) => only === undefined || uri?.toString() === only.toString());
    await Promise.all([...new Set(include.map(rootOf))].map((item) => this.resolve(item)));
    const wanted = new Map<string, TestItem>();
    for (const item of include) if (this.isListed(item)) this.collect(item, request, wanted);
    const ids = [...new Set([...wanted.values()].flatMap((item) => this.nodes.get(item)?.runs ?? []))];
    const broken = include.filter(({ error, children }) => error !== undefined && children.size === 0);
    if (ids.length === 0 && broken.length === 0) return;
    // Of all runs of one request VS Code shows the worst result, so that what once failed would never pass.
    const own = only === undefined ? request : new TestRunRequest(include, request.exclude, request.profile, true);
    const run = this.controller.createTestRun(own);
    for (const item of wanted.values()) run.started(item);
    for (const item of broken) run.errored(item, new TestMessage(item.error ?? ""));
    if (ids.length === 0) {
      run.end();
      return;
    }
    const versions = new Map([...wanted.values()].map(({ uri }) => [uri?.toString(), versionOf(uri)]));
    const found: DocstringResult[] = [];
    const token = randomUUID();
    const parts = client.onProgress(PARTS, token, ({ results }) => {
      for (const result of results) {
        found.push(result);
        this.tell(run, result, wanted);
      }
    });
    try {
      const params = { ids, coverage: covers, partialResultToken: token };
      const { reason } = await client.sendRequest<CheckAnswer>(CHECK, params, run.token);
      if (reason !== undefined && reason !== null) run.appendOutput(`${reason}\r\n`);
      if (covers) this.cover(run, found, versions);
    } catch (error) {
      if (!isCancelled(error)) void tellOfFailure(error);
    } finally {
      parts.dispose();
      run.end();
    }
  }

  /** The examples below an item, and the docstrings that they are in. */
  private collect(item: TestItem, request: TestRunRequest, wanted: Map<string, TestItem>): void {
    if (request.exclude?.includes(item) === true) return;
    if (item.children.size === 0 && this.nodes.has(item)) wanted.set(item.id, item);
    for (const [, child] of item.children) this.collect(child, request, wanted);
  }

  private tell(run: TestRun, result: DocstringResult, wanted: ReadonlyMap<string, TestItem>): void {
    for (const each of told(result)) {
      const items = wanted.has(each.id)
        ? [wanted.get(each.id)]
        : [...wanted.values()].filter((item) => this.nodes.get(item)?.runs === each.id);
      for (const item of items) {
        if (item === undefined) continue;
        if ("message" in each) run[each.state](item, this.message(item, each));
        else run[each.state](item);
      }
    }
  }

  private message(item: TestItem, { message, got }: Failed): TestMessage {
    const want = this.nodes.get(item)?.want ?? "";
    const shown = got === undefined ? new TestMessage(message) : TestMessage.diff(message, want, got);
    if (item.uri !== undefined && item.range !== undefined) shown.location = new Location(item.uri, item.range);
    return shown;
  }

  /**
   * Tells what was reached of each file; the lines are looked at when the file is. Of a file whose text is another than at
   * the start, in `versions`, nothing is told.
   */
  private cover(
    run: TestRun,
    results: readonly DocstringResult[],
    versions: ReadonlyMap<string | undefined, number | undefined>,
  ): void {
    const files = new Map<string, Coverage[]>();
    for (const { id, coverage } of results) {
      if (coverage !== null && coverage !== undefined) files.set(fileOf(id), [...(files.get(fileOf(id)) ?? []), coverage]);
    }
    for (const [file, coverages] of files) {
      const uri = Uri.parse(file);
      if (versionOf(uri) !== versions.get(uri.toString())) {
        run.appendOutput(`${workspace.asRelativePath(uri)} was changed meanwhile: run it again for its coverage.\r\n`);
        continue;
      }
      const details = lines(coverages).map(({ line, reached, branches }) => {
        const at = new Position(line - 1, 0);
        const ways = branches.map((branch) => new BranchCoverage(branch.reached, at, branch.label));
        return new StatementCoverage(reached, at, ways);
      });
      const covered = FileCoverage.fromDetails(uri, details);
      this.details.set(covered, details);
      run.addCoverage(covered);
    }
  }
}

async function tellOfFailure(error: unknown): Promise<void> {
  const log = "Show Log";
  const chosen = await window.showErrorMessage(`AdaCoder could not run the examples: ${String(error)}`, log);
  if (chosen === log) await commands.executeCommand("adacoder.showLog");
}

function rootOf(item: TestItem): TestItem {
  return item.parent === undefined ? item : rootOf(item.parent);
}

function openAt(uri: Uri | undefined): TextDocument | undefined {
  return workspace.textDocuments.find((document) => document.uri.toString() === uri?.toString());
}

/** The version of a text; undefined if it is not open. */
function versionOf(uri: Uri | undefined): number | undefined {
  return openAt(uri)?.version;
}

function isWithin(uri: Uri, folder: Uri): boolean {
  return uri.toString() === folder.toString() || uri.toString().startsWith(`${folder.toString()}/`);
}

/** Whether it is a Python file of the workspace; of one that is not trusted no example can run. */
function isOurs(uri: Uri): boolean {
  return workspace.isTrusted && uri.scheme === "file" && uri.path.endsWith(".py") && workspace.getWorkspaceFolder(uri) !== undefined;
}

/** False for a file below `folder` in a folder of built files. */
async function isOwn(uri: Uri, folder: Uri): Promise<boolean> {
  const path = uri.path.slice(folder.path.length);
  for (const { index, 0: name } of path.matchAll(OUTPUT)) {
    try {
      await workspace.fs.readFile(Uri.joinPath(folder, `${path.slice(0, index)}${name}/__init__.py`));
    } catch {
      return false;
    }
  }
  return true;
}

async function hasPrompt(uri: Uri): Promise<boolean> {
  try {
    return Buffer.from(await workspace.fs.readFile(uri)).includes(PROMPT);
  } catch {
    return false; // it is gone already
  }
}
