/** The Test Explorer: docstring examples as tests. The server lists them and reports their results. */

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
  l10n,
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

import { tell } from "../messages";
import { isCancelled } from "../requests";
import type { Server } from "../server";
import { debugExamples } from "./debug";
import { CHECK, fileOf, lines, told, type CheckAnswer, type Coverage, type DocstringResult, type Failed } from "./results";
import { EXAMPLES, tree, type ExamplesAnswer, type Node } from "./tree";

/** Folders without examples of the project itself. VS Code's search allows no nested braces. */
const EXCLUDED = "{**/.*/**,**/node_modules/**,**/site-packages/**,**/__pycache__/**,**/venv/**}";
/** Folders of built files, unless they are packages. */
const OUTPUT = /\/(?:build|dist)(?=\/)/g;
/** Files with examples. Each search has its own limit, so that pages do not displace Python files. */
const SEARCHES = ["**/*.py", "**/*.{md,rst}"];
const MOST_FILES = 5000;
const PAUSE_MS = 500;
const PROMPT = Buffer.from(">>> ");
const PARTS = new ProgressType<CheckAnswer>();

/**
 * Shows the examples of all Python files and pages of the workspace as tests.
 *
 * @param debugged - the program that runs examples under a debugger
 */
export function registerTests(server: Server, debugged: string): { dispose(): unknown }[] {
  return [new Explorer(server, debugged)];
}

class Explorer {
  private readonly controller: TestController = tests.createTestController("adacoder", l10n.t("AdaCoder Examples"));
  private readonly nodes = new WeakMap<TestItem, Node>();
  private readonly details = new WeakMap<FileCoverage, FileCoverageDetail[]>();
  private readonly asked = new WeakMap<TestItem, symbol>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly server: Server,
    private readonly debugged: string,
  ) {
    this.controller.resolveHandler = (item) => (item === undefined ? this.discover() : this.look(item));
    this.controller.refreshHandler = () => this.discover();
    this.controller.createRunProfile(l10n.t("Run"), TestRunProfileKind.Run, this.handler(false), true, undefined, true);
    const coverage = this.controller.createRunProfile(
      l10n.t("Run with Coverage"),
      TestRunProfileKind.Coverage,
      this.handler(true),
      true,
      undefined,
      true,
    );
    this.controller.createRunProfile(l10n.t("Debug"), TestRunProfileKind.Debug, (request) => this.debug(request));
    coverage.loadDetailedCoverage = (_run, file) => Promise.resolve(this.details.get(file) ?? []);
    const watcher = workspace.createFileSystemWatcher("**/*.{py,md,rst}");
    // When a folder is deleted, VS Code reports only the folder.
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
   * Lists the files that appear to have examples, and removes files that are gone. The server reads a file only once
   * the user expands it.
   */
  private async discover(): Promise<void> {
    this.forget((uri) => !isOurs(uri));
    this.followAll();
    for (const [id, { uri }] of [...this.controller.items]) {
      if (uri !== undefined && !(await mayHaveExamples(uri))) this.controller.items.delete(id);
    }
    if (!workspace.isTrusted) return;
    for (const folder of workspace.workspaceFolders ?? []) {
      const found = SEARCHES.map((files) => workspace.findFiles(new RelativePattern(folder, files), EXCLUDED, MOST_FILES));
      for (const uri of (await Promise.all(found)).flat()) {
        const isNew = isOurs(uri) && this.controller.items.get(uri.toString()) === undefined;
        if (isNew && (await isOwn(uri, folder.uri)) && (await hasPrompt(uri))) this.file(uri);
      }
    }
  }

  /** Updates all files that are open or that the user has expanded. */
  private followAll(): void {
    const seen = [...this.controller.items].flatMap(([, item]) => (item.canResolveChildren ? [] : [item]));
    for (const { uri } of [...seen, ...workspace.textDocuments]) if (uri !== undefined) this.follow(uri);
  }

  /** Removes files from the list. */
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

  /** Shows a file's examples, starting the server if need be. */
  private async look(item: TestItem): Promise<void> {
    if ((await this.server.running()) !== undefined) await this.resolve(item);
  }

  /** Updates a file of the workspace once it has not changed for a moment. */
  private follow(uri: Uri): void {
    if (!isOurs(uri)) return;
    const name = uri.toString();
    clearTimeout(this.waiting.get(name));
    const again = async (): Promise<void> => {
      this.waiting.delete(name);
      if (await mayHaveExamples(uri)) await this.resolve(this.file(uri));
      else this.controller.items.delete(name);
    };
    this.waiting.set(
      name,
      setTimeout(() => void again(), PAUSE_MS),
    );
  }

  /** Asks the server for a file's examples. Removes a file without examples. */
  private async resolve(item: TestItem): Promise<void> {
    const client = this.server.current;
    if (client === undefined || item.uri === undefined || item.parent !== undefined) return;
    const asked = Symbol(item.id);
    this.asked.set(item, asked);
    item.busy = true;
    try {
      const params = { textDocument: { uri: client.code2ProtocolConverter.asUri(item.uri) } };
      const { items, reason } = await client.sendRequest<ExamplesAnswer>(EXAMPLES, params);
      if (this.asked.get(item) !== asked) return; // a later request has replaced this one
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

  /** Sets the children of an item to `nodes`. Tests that already exist stay, with their results. */
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

  /** True if a test still exists. */
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
        if (!isOurs(uri) || !(await mayHaveExamples(uri))) return;
        await this.resolve(this.file(uri));
        await this.run(request, covers, uri);
      });
      cancellation.onCancellationRequested(() => {
        saving.dispose();
      });
    };
  }

  /** Runs the tests of a request; with `only`, just the tests of one file. */
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
    // VS Code shows the worst result of all runs of a request: a test that failed once would never pass.
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

  /** Debugs the one docstring that a request is about. */
  private async debug({ include = [] }: TestRunRequest): Promise<void> {
    const client = await this.server.running();
    if (client === undefined) return;
    await Promise.all([...new Set(include.map(rootOf))].map((item) => this.resolve(item)));
    const wanted = new Map<string, TestItem>();
    for (const item of include) if (this.isListed(item)) this.collect(item, new TestRunRequest(include), wanted);
    const found = new Map([...wanted.values()].map((item) => [this.nodes.get(item)?.runs, item.uri]));
    const [[id, uri] = []] = found;
    if (found.size === 1 && id !== undefined && uri !== undefined) await debugExamples(client, id, uri, this.debugged);
    else void tell(l10n.t("A debugger runs the examples of one docstring: choose one."), { isGood: false });
  }

  /** Collects the examples below an item, and their docstrings. */
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
   * Reports the coverage of each file; VS Code loads the lines when the file is shown. Skips files that changed since
   * the start, according to `versions`.
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
        run.appendOutput(`${l10n.t("{0} changed during the run: run it again for its coverage.", workspace.asRelativePath(uri))}\r\n`);
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
  const log = l10n.t("Show Log");
  const chosen = await window.showErrorMessage(l10n.t("AdaCoder could not run the examples: {0}", String(error)), log);
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

/** True for a Python file or a page of the workspace. Always false in an untrusted workspace, where no example can run. */
function isOurs(uri: Uri): boolean {
  return workspace.isTrusted && uri.scheme === "file" && /\.(?:py|md|rst)$/.test(uri.path) && workspace.getWorkspaceFolder(uri) !== undefined;
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

/** True if the server should look for examples. An open Python file may have examples in prose. */
async function mayHaveExamples(uri: Uri): Promise<boolean> {
  const open = openAt(uri);
  if (open === undefined) return hasPrompt(uri);
  return uri.path.endsWith(".py") || open.getText().includes(PROMPT.toString());
}

async function hasPrompt(uri: Uri): Promise<boolean> {
  try {
    return Buffer.from(await workspace.fs.readFile(uri)).includes(PROMPT);
  } catch {
    return false; // already deleted
  }
}
