/** The Test Explorer: docstring examples as tests. The server lists them and reports their results. */

import { randomUUID } from "node:crypto";
import { access, readFile } from "node:fs/promises";
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
  type TestItemCollection,
  type TestRun,
  type TextDocument,
  type WorkspaceFolder,
} from "vscode";
import { ProgressType } from "vscode-languageclient/node";

import { tell } from "../messages";
import { isCancelled } from "../requests";
import type { Client, Server } from "../server";
import { debugExamples } from "./debug";
import {
  CHANGED,
  CHECK,
  EVIDENCE,
  fileOf,
  lines,
  terminal,
  told,
  type CheckAnswer,
  type Coverage,
  type DocstringResult,
  type EvidenceAnswer,
  type Failed,
} from "./results";
import { EXAMPLES, tree, type ExamplesAnswer, type Node } from "./tree";

/**
 * Folders that have no examples of the project itself, such as environments. VS Code's search allows no nested braces.
 */
const EXCLUDED = "{**/.*/**,**/node_modules/**,**/site-packages/**,**/__pycache__/**,**/venv/**}";
/** Folders of built files, unless they are packages. */
const OUTPUT = /\/(?:build|dist)(?=\/)/g;
/** Files with examples. Each search has its own limit, so that pages do not displace Python files. */
const SEARCHES = ["**/*.py", "**/*.{md,rst}"];
const MOST_FILES = 5000;
/** Files that are read at a time. */
const AT_A_TIME = 64;
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
  /** The tests of files, by URI. Those of folders have no URI. */
  private readonly files = new Map<string, TestItem>();
  private readonly nodes = new WeakMap<TestItem, Node>();
  private readonly details = new WeakMap<FileCoverage, FileCoverageDetail[]>();
  private readonly asked = new WeakMap<TestItem, symbol>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly known = new WeakSet<Client>();
  /** Files for which the server has announced new evidence. */
  private readonly news = new Set<string>();
  /** Folders for which the user knows that files may be missing. */
  private readonly cut = new Set<string>();
  /** The results that are shown for each docstring. */
  private readonly shown = new Map<string, string>();
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
        if (kind !== "running") return;
        this.listen();
        this.followAll();
      }),
    ];
  }

  dispose(): void {
    for (const each of this.waiting.values()) clearTimeout(each);
    for (const each of this.disposables) each.dispose();
  }

  /**
   * Lists the files that appear to have examples, and removes files that are gone. The server reads a file only when
   * the user expands it.
   */
  private async discover(): Promise<void> {
    this.forget((uri) => !isOurs(uri));
    this.followAll();
    await forAll([...this.files], async ([name, { uri }]) => {
      if (uri !== undefined && !(await mayHaveExamples(uri))) this.remove(name);
    });
    if (!workspace.isTrusted) return;
    for (const folder of workspace.workspaceFolders ?? []) {
      const found = SEARCHES.map((files) => workspace.findFiles(new RelativePattern(folder, files), EXCLUDED, MOST_FILES));
      const files = await Promise.all(found);
      if (files.some(({ length }) => length === MOST_FILES)) this.tellOfCut(folder);
      await forAll(files.flat(), async (uri) => {
        const isNew = isOurs(uri) && !this.files.has(uri.toString());
        if (isNew && (await isOwn(uri, folder.uri)) && (await hasPrompt(uri))) this.file(uri);
      });
    }
  }

  /** Tells once that files of a folder may be missing. */
  private tellOfCut({ name, uri }: WorkspaceFolder): void {
    if (this.cut.has(uri.toString())) return;
    this.cut.add(uri.toString());
    const message = l10n.t(
      "Only the first {0} Python files and pages of '{1}' were searched for examples. Open another file to list its examples.",
      MOST_FILES,
      name,
    );
    void tell(message, { isGood: false });
  }

  /** Updates all files that are open or that the user has expanded. */
  private followAll(): void {
    const seen = [...this.files.values()].filter((item) => !item.canResolveChildren);
    for (const { uri } of [...seen, ...workspace.textDocuments]) if (uri !== undefined) this.follow(uri);
  }

  /** Removes files from the list. */
  private forget(isGone: (uri: Uri) => boolean): void {
    for (const [name, { uri }] of [...this.files]) if (uri !== undefined && isGone(uri)) this.remove(name);
  }

  private file(uri: Uri): TestItem {
    const known = this.files.get(uri.toString());
    if (known !== undefined) return known;
    const path = workspace.asRelativePath(uri).split("/");
    const item = this.controller.createTestItem(uri.toString(), path.at(-1) ?? "", uri);
    item.canResolveChildren = true;
    this.files.set(item.id, item);
    this.inFolder(path.slice(0, -1)).add(item);
    return item;
  }

  /** The tests in a folder. Adds the folder to the tree if necessary. */
  private inFolder(path: readonly string[]): TestItemCollection {
    let found = this.controller.items;
    for (const [depth, label] of path.entries()) {
      const id = path.slice(0, depth + 1).join("/");
      const folder = found.get(id) ?? this.controller.createTestItem(id, label);
      if (found.get(id) === undefined) found.add(folder);
      found = folder.children;
    }
    return found;
  }

  /** Removes a file, and the folders that are empty without it. */
  private remove(name: string): void {
    let item = this.files.get(name);
    this.files.delete(name);
    while (item !== undefined) {
      const { parent }: TestItem = item;
      (parent?.children ?? this.controller.items).delete(item.id);
      item = parent?.children.size === 0 ? parent : undefined;
    }
  }

  /** Shows a file's examples. Starts the server if necessary. */
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
      else this.remove(name);
    };
    this.waiting.set(
      name,
      setTimeout(() => void again(), PAUSE_MS),
    );
  }

  /** Asks the server for a file's examples. Removes a file without examples. */
  private async resolve(item: TestItem): Promise<void> {
    const client = this.server.current;
    if (client === undefined || item.uri === undefined || this.files.get(item.id) !== item) return;
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
      if (nodes.length === 0 && !isBroken) this.remove(item.id);
      await this.showEvidence(client, item, item.uri);
    } catch (error) {
      if (!isCancelled(error)) item.error = String(error);
    } finally {
      item.busy = false;
    }
  }

  /** Shows the results of jobs and of checks on save. */
  private listen(): void {
    const client = this.server.current;
    if (client === undefined || this.known.has(client)) return;
    this.known.add(client);
    client.onNotification(CHANGED, ({ textDocument }: { readonly textDocument: { readonly uri: string } }) => {
      const uri = client.protocol2CodeConverter.asUri(textDocument.uri);
      this.news.add(uri.toString());
      this.follow(uri);
    });
  }

  /** Shows the evidence of a file as results of its tests. Nothing runs. */
  private async showEvidence(client: Client, file: TestItem, uri: Uri): Promise<void> {
    if (!this.news.delete(file.id)) return;
    const params = { textDocument: { uri: client.code2ProtocolConverter.asUri(uri) } };
    const { items } = await client.sendRequest<EvidenceAnswer>(EVIDENCE, params);
    const current = items.filter(({ isCurrent }) => isCurrent).map(({ id, evidence, results }) => ({ ...evidence, id, results }));
    const fresh = current.filter(({ id, results }) => this.shown.get(id) !== JSON.stringify(results));
    const ids = new Set<string | undefined>(fresh.map(({ id }) => id));
    const wanted = new Map<string, TestItem>();
    this.collect(file, new TestRunRequest(), wanted);
    for (const [name, item] of wanted) {
      const node = this.nodes.get(item);
      if (node === undefined || node.isStub || !ids.has(node.runs)) wanted.delete(name);
    }
    if (wanted.size === 0) return;
    const run = this.controller.createTestRun(new TestRunRequest([...wanted.values()]), undefined, false);
    for (const result of fresh) this.tell(run, result, wanted);
    run.end();
  }

  /** Sets the children of an item to `nodes`. Tests that already exist stay, with their results. */
  private fill(parent: TestItem, nodes: readonly Node[]): void {
    const items = nodes.map((node) => {
      const item = parent.children.get(node.id) ?? this.controller.createTestItem(node.id, node.label, parent.uri);
      item.label = node.label;
      item.description = node.isStub ? l10n.t("not written yet") : "";
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
    const all = spread(request.include ?? itemsIn(this.controller.items), request.exclude);
    const include = all.filter(({ uri }) => only === undefined || uri?.toString() === only.toString());
    await this.resolveAll(include);
    const wanted = new Map<string, TestItem>();
    for (const item of include) if (this.isListed(item)) this.collect(item, request, wanted);
    const unwritten = [...wanted.values()].filter((item) => this.nodes.get(item)?.isStub === true);
    for (const item of unwritten) wanted.delete(item.id);
    const ids = [...new Set([...wanted.values()].flatMap((item) => this.nodes.get(item)?.runs ?? []))];
    const broken = include.filter(({ error, children }) => error !== undefined && children.size === 0);
    if (ids.length + unwritten.length + broken.length === 0) return;
    // A continuous run needs a new request for each check: VS Code shows the worst result of all runs of a request.
    const own = only === undefined ? request : new TestRunRequest(include, request.exclude, request.profile, true);
    const run = this.controller.createTestRun(own);
    for (const item of wanted.values()) run.started(item);
    for (const item of unwritten) run.skipped(item);
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
    const items = spread(include);
    await this.resolveAll(items);
    const wanted = new Map<string, TestItem>();
    for (const item of items) if (this.isListed(item)) this.collect(item, new TestRunRequest(include), wanted);
    const found = new Map([...wanted.values()].map((item) => [this.nodes.get(item)?.runs, item.uri]));
    const [[id, uri] = []] = found;
    if (found.size === 1 && id !== undefined && uri !== undefined) await debugExamples(client, id, uri, this.debugged);
    else void tell(l10n.t("A debugger runs the examples of one docstring: choose one."), { isGood: false });
  }

  /** Asks the server for the examples of the files of some tests. */
  private async resolveAll(tests: readonly TestItem[]): Promise<void> {
    const found = new Set(tests.map(({ uri }) => this.files.get(uri?.toString() ?? "")));
    await forAll([...found], async (item) => (item === undefined ? undefined : this.resolve(item)));
  }

  /** Collects the examples below an item, and their docstrings. */
  private collect(item: TestItem, request: TestRunRequest, wanted: Map<string, TestItem>): void {
    if (request.exclude?.includes(item) === true) return;
    if (item.children.size === 0 && this.nodes.has(item)) wanted.set(item.id, item);
    for (const [, child] of item.children) this.collect(child, request, wanted);
  }

  private tell(run: TestRun, result: DocstringResult, wanted: ReadonlyMap<string, TestItem>): void {
    this.shown.set(result.id, JSON.stringify(result.results));
    for (const each of told(result)) {
      const items = wanted.has(each.id)
        ? [wanted.get(each.id)]
        : [...wanted.values()].filter((item) => this.nodes.get(item)?.runs === each.id);
      for (const item of items) {
        if (item === undefined) continue;
        const output = each.got ?? ("message" in each ? each.message : "");
        if (each.state !== "skipped") run.appendOutput(terminal(`>>> ${item.label}\n${output.replace(/\n?$/, "\n")}`), undefined, item);
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
   * Reports the coverage of each file. VS Code loads the lines when it shows the file. Skips files that have changed
   * since the versions in `versions`.
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
      const [before, now] = [versions.get(uri.toString()), versionOf(uri)];
      const isOpened = before === undefined && now === 1; // opened meanwhile, with the text on disk
      if (now !== before && !isOpened) {
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

/** Calls `act` for all values, a few at a time. */
async function forAll<T>(values: readonly T[], act: (value: T) => Promise<void>): Promise<void> {
  const left = values.values();
  const work = async (): Promise<void> => {
    for (const value of left) await act(value);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
}

function itemsIn(items: TestItemCollection): TestItem[] {
  return [...items].map(([, item]) => item);
}

/** Replaces each folder among tests by the files in it. */
function spread(items: readonly TestItem[], exclude: readonly TestItem[] = []): TestItem[] {
  const left = items.filter((item) => !exclude.includes(item));
  return left.flatMap((item) => (item.uri === undefined ? spread(itemsIn(item.children), exclude) : [item]));
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
      await access(Uri.joinPath(folder, `${path.slice(0, index)}${name}/__init__.py`).fsPath);
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

/** Reads the file without VS Code's file system, which asks the window before each file. */
async function hasPrompt(uri: Uri): Promise<boolean> {
  try {
    return (await readFile(uri.fsPath)).includes(PROMPT);
  } catch {
    return false; // already deleted
  }
}
