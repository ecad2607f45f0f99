/** Runs in the Test Explorer, with a server that answers as the test says. */

import { LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import { beforeEach, expect, test, vi } from "vitest";

import type { Server } from "../src/server";
import { registerTests } from "../src/tests/explorer";
import type { DocstringResult, ExampleResult } from "../src/tests/results";
import { CancellationTokenSource, Uri, commands, controllers, debug, files, installed, changed, closed, deleted, disk, edited, folders, refoldered, saved, window, workspace, type Request, type TestController, type TestItem } from "./fake/vscode";

vi.mock("node:fs/promises", async () => (await import("./fake/vscode")).disk);
vi.mock("vscode-languageclient/node", () => import("vscode-languageserver-protocol/node"));

const RUN = 0;
const COVERAGE = 1;
const DEBUG = 2;
const PATH = "/project/shapes.py";
const URI = Uri.file(PATH).toString();
const at = (line: number): object => ({ start: { line, character: 4 }, end: { line, character: 9 } });
const example = (name: string, number: number, line: number): object => ({
  id: `${URI}#${name}/${String(number)}`,
  range: at(line),
  source: `${name}(${String(number)})\n`,
  want: `${String(number)}\n`,
});
const documented = (name: string, line: number): object => ({
  id: `${URI}#${name}`,
  qualifiedName: name,
  kind: "function",
  range: at(line),
  examples: [example(name, 1, line + 1), example(name, 2, line + 3)],
});
const result = (name: string, states: readonly ExampleResult["state"][], more: Partial<DocstringResult> = {}): DocstringResult => ({
  id: `${URI}#${name}`,
  status: "partial",
  reason: null,
  coverage: null,
  results: states.map((state, index) => ({
    id: `${URI}#${name}/${String(index + 1)}`,
    state,
    got: state === "failed" ? "7\n" : null,
    error: null,
  })),
  ...more,
});

type Check = (ids: readonly string[], tell: (...results: DocstringResult[]) => void, token: CancellationTokenSource["token"]) => Promise<object>;

/** A server that records its requests and counts its starts. */
class StandIn {
  readonly asked: (readonly string[])[] = [];
  starts = 0;
  readonly condition = { kind: "running" };
  private hear: (condition: object) => void = () => undefined;
  readonly onDidChange = (hear: StandIn["hear"]): { dispose(): void } => {
    this.hear = hear;
    return { dispose: () => undefined };
  };
  /** Reports that a job has found something new about the file. */
  changes: (params: object) => void = () => undefined;
  readonly onNotification = (_method: string, changes: StandIn["changes"]): void => {
    this.changes = changes;
  };
  /** The evidence from jobs. */
  evidence: readonly object[] = [];
  private isRunning = false;
  private tell: (part: { results: readonly DocstringResult[] }) => void = () => undefined;

  /** Why the file cannot be read. */
  reason: string | null = null;

  constructor(private readonly check: Check) {}

  get current(): StandIn | undefined {
    return this.isRunning ? this : undefined;
  }

  readonly code2ProtocolConverter = { asUri: String };
  readonly protocol2CodeConverter = { asRange: (range: unknown) => range, asUri: (uri: string) => Uri.parse(uri) };

  /** Starts, and reports that. */
  async begin(): Promise<void> {
    this.hear({ kind: (await this.running()).condition.kind });
  }

  running(): Promise<StandIn> {
    if (!this.isRunning) this.starts += 1;
    this.isRunning = true;
    return Promise.resolve(this);
  }

  onProgress(_type: unknown, _token: string, tell: StandIn["tell"]): { dispose(): void } {
    this.tell = tell;
    return { dispose: () => undefined };
  }

  /** The answer to a request for a debugger. */
  debuggee: object = {
    interpreter: "/usr/bin/python3", folder: "/project", root: "/project/src", path: PATH, module: "shapes",
    qualifiedName: "area", setup: "import os", env: ["A=${command:x}", "B=2"], options: ["ELLIPSIS"], reason: null,
  };
  /** Functions without a body. */
  stubs: readonly string[] = [];
  /** Functions of the file. */
  names: readonly string[] = ["area", "side"];

  async sendRequest(method: string, params: { ids: readonly string[]; textDocument: { uri: string } }, token: CancellationTokenSource["token"]): Promise<object> {
    if (method === "adacoder/debug") return this.debuggee;
    if (method === "adacoder/evidence") return { items: this.evidence };
    if (method === "adacoder/examples" && !params.textDocument.uri.endsWith(".py")) {
      const uri = params.textDocument.uri;
      const one = { ...example("page", 1, 3), id: `${uri}#__doc__/1` };
      const page = { id: `${uri}#__doc__`, qualifiedName: "__doc__", kind: "page", range: at(3), examples: [one] };
      return { items: [page], reason: null };
    }
    if (method === "adacoder/examples") return { items: this.names.map((name, index) => ({ ...documented(name, 3 + 17 * index), isStub: this.stubs.includes(name) })), reason: this.reason };
    this.asked.push(params.ids);
    return this.check(params.ids, (...results) => { this.tell({ results }); }, token);
  }
}

const passing: Check = (ids, tell) => {
  tell(...ids.map((id) => result(id.slice(URI.length + 1), ["passed", "passed"])));
  return Promise.resolve({ results: [] });
};

function explorer(check: Check): { readonly server: StandIn; readonly controller: TestController } {
  const server = new StandIn(check);
  registerTests(server as unknown as Server, "/extension/debug_examples.py");
  const controller = controllers.at(-1);
  if (controller === undefined) throw new Error("No test controller was created.");
  return { server, controller };
}

function runs(controller: TestController, profile: number, request: Request = {}, from = new CancellationTokenSource()): Promise<void> {
  return controller.profiles[profile]?.handler(request, from.token) ?? Promise.reject(new Error("No profile has this name."));
}

function find(controller: TestController, ...path: string[]): TestItem {
  let found: TestItem | undefined = controller.items.get(URI);
  for (const id of path) found = found?.children.get(`${URI}#${id}`);
  if (found === undefined) throw new Error(`Cannot find test ${path.join(" > ")}.`);
  return found;
}

/** The labels of all tests, each before those below it. */
function labels(items: TestController["items"]): string[] {
  return [...items].flatMap(([, { label, children }]) => [label, ...labels(children)]);
}

beforeEach(() => {
  vi.useRealTimers();
  window.showErrorMessage.mockClear();
  workspace.textDocuments = [];
  workspace.isTrusted = true;
  debug.startDebugging.mockClear();
  installed.clear();
  files.clear();
  files.set(PATH, ">>> area(1)").set("/project/plain.py", "x = 1");
});

test("files are listed without a server, which starts when one is expanded", async () => {
  const { server, controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect([...controller.items].map(([, { label }]) => label)).toEqual(["shapes.py"]);
  expect(server.starts).toBe(0);
  await controller.resolveHandler?.(find(controller));
  expect([...find(controller).children].map(([, { label }]) => label)).toEqual(["area", "side"]);
  expect(server.starts).toBe(1);
});

test("a package named build is listed, and build output is not", async () => {
  files.set("/project/src/build/__init__.py", "").set("/project/src/build/env.py", ">>> 1").set("/project/build/lib/a.py", ">>> 1");
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect(labels(controller.items)).toEqual(["shapes.py", "src", "build", "env.py"]);
});

test("files are in folders, which run as a whole and are gone with their last file", async () => {
  files.set("/project/a/b/one.py", ">>> 1").set("/project/a/two.py", ">>> 1").set("/project/c/three.py", ">>> 1");
  const { server, controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect(labels(controller.items).sort()).toEqual(["a", "b", "c", "one.py", "shapes.py", "three.py", "two.py"]);
  const ask = vi.spyOn(server, "sendRequest");
  const about = (): string[] => ask.mock.calls.flatMap(([method, { textDocument }]) => (method === "adacoder/examples" ? [textDocument.uri.slice("file:///project/".length)] : []));
  const [a, b] = [controller.items.get("a"), controller.items.get("a")?.children.get("a/b")];
  if (a === undefined || b === undefined) throw new Error("A folder is not listed.");
  await runs(controller, RUN, { include: [a] });
  expect(about().sort()).toEqual(["a/b/one.py", "a/two.py"]);
  ask.mockClear();
  await runs(controller, RUN, { include: [a], exclude: [b] });
  expect(about()).toEqual(["a/two.py"]);
  await deleted.fire(Uri.file("/project/a/b/one.py"));
  expect(labels(a.children)).not.toContain("b");
  await deleted.fire(Uri.file("/project/a/two.py"));
  expect([...controller.items].map(([, { label }]) => label).sort()).toEqual(["c", "shapes.py"]);
});

test("many files are read at a time, and not all of them at once", async () => {
  for (let number = 0; number < 300; number += 1) files.set(`/project/many/${String(number)}.py`, ">>> 1");
  let [open, most] = [0, 0];
  const read = disk.readFile;
  const reading = vi.spyOn(disk, "readFile").mockImplementation(async (path) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise(setImmediate);
    open -= 1;
    return read(path);
  });
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  reading.mockRestore();
  expect(controller.items.get("many")?.children.size).toBe(300);
  expect(most).toBeGreaterThan(8);
  expect(most).toBeLessThan(300);
});

test("a folder with more files than are searched is told, once", async () => {
  for (let number = 0; number < 5000; number += 1) files.set(`/project/many/${String(number)}.py`, "");
  const told = (): unknown[] => window.showWarningMessage.mock.calls.map(([message]) => message);
  window.showWarningMessage.mockClear();
  const search = vi.spyOn(workspace, "findFiles");
  search.mockImplementationOnce(() => Promise.resolve([...files.keys()].slice(0, 4999).map((path) => Uri.file(path))));
  search.mockResolvedValue([]);
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect(told()).toEqual([]);
  const all = [...files.keys()].slice(0, 5000).map((path) => Uri.file(path));
  search.mockResolvedValueOnce(all);
  await controller.refreshHandler?.();
  search.mockResolvedValueOnce(all);
  await controller.refreshHandler?.();
  search.mockRestore();
  expect(told()).toEqual([expect.stringMatching(/^Only the first 5000 Python files and pages of 'project'/)]);
});

test("examples of a function without a body are skipped, as not written yet", async () => {
  const { server, controller } = explorer(passing);
  server.stubs = ["area"];
  await runs(controller, RUN);
  expect(server.asked).toEqual([[`${URI}#side`]]);
  expect(controller.runs[0]?.told.filter((line) => !line.startsWith("started"))).toEqual(["skipped area(1)", "skipped area(2)", "passed side(1)", "passed side(2)"]);
  expect([find(controller, "area").description, find(controller, "side").description]).toEqual(["not written yet", ""]);
  await runs(controller, RUN, { include: [find(controller, "area")] });
  expect(controller.runs[1]?.told).toEqual(["skipped area(1)", "skipped area(2)"]);
  expect(controller.runs[1]?.ended).toBe(true);
  server.stubs = [];
  await runs(controller, RUN);
  expect(server.asked[1]).toEqual([`${URI}#area`, `${URI}#side`]);
});

test("tests get the states that a job or a check on save found, and nothing runs", async () => {
  const { server, controller } = await looked();
  await server.begin();
  const found = (name: string, state: ExampleResult["state"], isCurrent = true): object => {
    const { id, results, ...evidence } = result(name, ["passed", state]);
    return { id, isCurrent, evidence, results };
  };
  const told = async (...evidence: object[]): Promise<readonly string[]> => {
    const before = controller.runs.length;
    server.evidence = evidence;
    server.changes({ textDocument: { uri: URI } });
    await settle();
    return controller.runs.slice(before).flatMap((run) => [...run.told, run.ended ? "ended" : "open"]);
  };
  expect(await told(found("area", "failed"), found("side", "passed", false))).toEqual(["passed area(1)", "failed area(2)", "ended"]);
  expect(controller.runs[0]?.messages).toMatchObject([{ expectedOutput: "2\n", actualOutput: "7\n" }]);
  expect(await told(found("area", "failed"))).toEqual([]);
  expect(await told(found("area", "passed"))).toEqual(["passed area(1)", "passed area(2)", "ended"]);
  server.stubs = ["side"];
  expect(await told(found("side", "failed"))).toEqual([]);
  expect(server.asked).toEqual([]);
});

test("each test has its output, in which control characters have no effect", async () => {
  const { controller } = explorer((_ids, tell) => {
    const [passed, failed] = result("area", ["passed", "failed"]).results;
    if (passed === undefined || failed === undefined) throw new Error("There are two examples.");
    tell(result("area", [], { results: [{ ...passed, got: "1\n2\n" }, { ...failed, got: "\x1b[2Jwiped" }] }));
    return Promise.resolve({ results: [] });
  });
  await runs(controller, RUN);
  expect([...(controller.runs[0]?.outputs ?? [])]).toEqual([
    ["area(1)", ">>> area(1)\r\n1\r\n2\r\n"],
    ["area(2)", ">>> area(2)\r\n\ufffd[2Jwiped\r\n"],
  ]);
});

test("an example that does not end fails without a difference, and later ones are skipped", async () => {
  const { controller } = explorer((_ids, tell) => {
    const endless = { id: `${URI}#area/1`, state: "failed" as const, got: null, error: null, hint: "It was still running." };
    const [, later] = result("area", ["failed", "unknown"]).results;
    if (later === undefined) throw new Error("There are two examples.");
    tell(result("area", [], { failure: { message: "It was still running." }, results: [endless, later] }), result("side", ["passed", "passed"]));
    return Promise.resolve({ results: [] });
  });
  await runs(controller, RUN);
  expect(controller.runs[0]?.told.slice(-4)).toEqual(["failed area(1)", "skipped area(2)", "passed side(1)", "passed side(2)"]);
  expect(controller.runs[0]?.messages).toMatchObject([{ message: "It was still running." }]);
  expect(controller.runs[0]?.messages[0]?.actualOutput).toBeUndefined();
});

test("a file with a syntax error stays listed, and is an error of a run", async () => {
  const { server, controller } = explorer(passing);
  server.names = [];
  server.reason = "Line 1 is a syntax error.";
  await runs(controller, RUN);
  expect(find(controller).error).toBe("Line 1 is a syntax error.");
  expect(server.asked).toEqual([]);
  expect(controller.runs.map(({ told, ended }) => [told, ended])).toEqual([[["errored shapes.py"], true]]);
  files.delete(PATH);
  await controller.resolveHandler?.(find(controller));
  expect(controller.items.get(URI)).toBeUndefined();
});

test("one request runs everything, and one example runs with its docstring", async () => {
  const { server, controller } = explorer(passing);
  await runs(controller, RUN);
  expect(server.asked).toEqual([[`${URI}#area`, `${URI}#side`]]);
  expect(controller.runs[0]?.told.filter((line) => line.startsWith("passed"))).toHaveLength(4);
  await runs(controller, RUN, { include: [find(controller, "side", "side/2")] });
  expect(server.asked[1]).toEqual([`${URI}#side`]);
  expect(controller.runs[1]?.told).toEqual(["started side(2)", "passed side(2)"]);
  await runs(controller, RUN, { exclude: [find(controller, "area")] });
  expect(server.asked[2]).toEqual([`${URI}#side`]);
});

test("a failure shows a difference at its example's line", async () => {
  const { controller } = explorer((_ids, tell) => {
    tell(result("area", ["passed", "failed"]));
    return Promise.resolve({ results: [] });
  });
  await runs(controller, RUN);
  const [run] = controller.runs;
  expect(run?.told).toContain("failed area(2)");
  expect(run?.messages).toMatchObject([
    { expectedOutput: "2\n", actualOutput: "7\n", location: { uri: { path: PATH }, range: at(6) } },
  ]);
});

test("cancelling a run cancels its request and keeps the results so far", async () => {
  const cancelling = new CancellationTokenSource();
  const { controller } = explorer(
    (_ids, tell, token) =>
      new Promise((_resolve, reject) => {
        tell(result("area", ["passed", "passed"]));
        token.onCancellationRequested(() => {
          reject(new ResponseError(LSPErrorCodes.RequestCancelled, "cancelled"));
        });
      }),
  );
  const running = runs(controller, RUN, {}, cancelling);
  await vi.waitFor(() => {
    expect(controller.runs[0]?.told).toContain("passed area(2)");
  });
  expect(controller.runs[0]?.ended).toBe(false);
  cancelling.cancel();
  await running;
  expect(controller.runs[0]?.ended).toBe(true);
});

test("a failed request ends the run, with a message that offers the log", async () => {
  window.showErrorMessage.mockResolvedValueOnce("Show Log");
  const { controller } = explorer(() => Promise.reject(new Error("it broke")));
  await runs(controller, RUN);
  expect(controller.runs[0]?.ended).toBe(true);
  expect(window.showErrorMessage.mock.calls).toEqual([["AdaCoder could not run the examples: Error: it broke", "Show Log"]]);
  await vi.waitFor(() => {
    expect(commands.executeCommand).toHaveBeenCalledWith("adacoder.showLog");
  });
});

test("a continuous run runs only saved files, until it is cancelled", async () => {
  const { server, controller } = explorer(passing);
  expect(controller.profiles.map(({ supportsContinuousRun }) => supportsContinuousRun)).toEqual([true, true, false]);
  await server.running();
  const watching = new CancellationTokenSource();
  const request = { continuous: true };
  await runs(controller, RUN, request, watching);
  expect(server.asked).toEqual([]);
  await saved.fire({ uri: Uri.file(PATH) });
  expect(server.asked).toEqual([[`${URI}#area`, `${URI}#side`]]);
  await saved.fire({ uri: Uri.file("/project/notes.txt") });
  await saved.fire({ uri: Uri.file("/elsewhere/shapes.py") });
  expect(server.asked).toHaveLength(1);
  await saved.fire({ uri: Uri.file(PATH) });
  expect(server.asked).toHaveLength(2);
  // With one request for both runs, VS Code would show the worse result of each test.
  expect(new Set([request, ...controller.runs.map((run) => run.request)]).size).toBe(3);
  watching.cancel();
  await saved.fire({ uri: Uri.file(PATH) });
  expect(server.asked).toHaveLength(2);
});

test("coverage has unreached lines and untaken branches", async () => {
  const coverage = { reached: [5], unreached: [{ line: 6 }], branches: [{ line: 5, never: true }] };
  const { controller } = explorer((_ids, tell) => {
    tell(result("area", ["passed", "passed"], { coverage }));
    return Promise.resolve({ results: [] });
  });
  await runs(controller, RUN);
  expect(controller.runs[0]?.covered).toEqual([]);
  await runs(controller, COVERAGE);
  const [covered] = controller.runs[1]?.covered ?? [];
  expect(covered?.uri.path).toBe(PATH);
  const details = covered && (await controller.profiles[COVERAGE]?.loadDetailedCoverage?.(undefined, covered));
  expect(details).toMatchObject([
    { executed: true, location: { line: 4 }, branches: [{ label: "true", executed: false }, { label: "false", executed: true }] },
    { executed: false, location: { line: 5 }, branches: [] },
  ]);
});

// Tests of deleted examples

const PAUSE_MS = 600;
const listedNow = (controller: TestController): string[] => [...controller.items].flatMap(([id, item]) => [id, ...[...item.children].map(([child]) => child)]);
const ALL = [URI, `${URI}#area`, `${URI}#side`];

/** An explorer that somebody has looked into. */
async function looked(): Promise<{ readonly server: StandIn; readonly controller: TestController }> {
  const found = explorer(passing);
  await found.controller.resolveHandler?.();
  await found.controller.resolveHandler?.(find(found.controller));
  expect(listedNow(found.controller)).toEqual(ALL);
  vi.useFakeTimers();
  return found;
}

const settle = async (): Promise<void> => {
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
};

test.each([
  ["saved without it", (): Promise<void> => changed.fire(Uri.file(PATH))],
  ["edited", (): Promise<void> => edited.fire({ document: { uri: Uri.file(PATH) } })],
  ["closed unsaved", (): Promise<void> => closed.fire({ uri: Uri.file(PATH) })],
])("a deleted function loses its test once its file is %s", async (_, happens) => {
  const { server, controller } = await looked();
  server.names = ["side"];
  await happens();
  await settle();
  expect(listedNow(controller)).toEqual([URI, `${URI}#side`]);
  server.names = [];
  await happens();
  await settle();
  expect(listedNow(controller)).toEqual([]);
});

test.each([
  ["the file is deleted", (): Promise<void> => deleted.fire(Uri.file(PATH))],
  ["its folder is deleted", (): Promise<void> => deleted.fire(Uri.file("/project"))],
  [
    "it has no example any more",
    (): Promise<void> => {
      files.set(PATH, "x = 1");
      return changed.fire(Uri.file(PATH));
    },
  ],
  [
    "it was never saved",
    (): Promise<void> => {
      files.delete(PATH);
      return closed.fire({ uri: Uri.file(PATH) });
    },
  ],
  [
    "its folder leaves the workspace",
    async (): Promise<void> => {
      const [project] = folders.splice(0, 1);
      await refoldered.fire(undefined);
      if (project !== undefined) folders.unshift(project);
    },
  ],
  [
    "the workspace is not trusted",
    (): Promise<void> => {
      workspace.isTrusted = false;
      return refoldered.fire(undefined);
    },
  ],
])("no test stays when %s", async (_, happens) => {
  const { controller } = await looked();
  await deleted.fire(Uri.file("/pro"));
  await settle();
  expect(listedNow(controller)).toEqual(ALL);
  await happens();
  await settle();
  expect(listedNow(controller)).toEqual([]);
});

test("a refresh removes deleted tests, even in files that were never expanded", async () => {
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect(controller.items.size).toBe(1);
  files.delete(PATH);
  await controller.refreshHandler?.();
  expect(controller.items.size).toBe(0);
});

test("the later of two requests about a file counts, whichever is answered first", async () => {
  const { server, controller } = await looked();
  let answer: (found: object) => void = () => undefined;
  const send = vi.spyOn(server, "sendRequest").mockReturnValueOnce(new Promise((resolve) => { answer = resolve; }));
  await edited.fire({ document: { uri: Uri.file(PATH) } });
  await settle();
  server.names = ["side"];
  await edited.fire({ document: { uri: Uri.file(PATH) } });
  await settle();
  answer({ items: [documented("area", 3)] });
  await vi.advanceTimersByTimeAsync(0);
  expect(send).toHaveBeenCalledTimes(2);
  expect(listedNow(controller)).toEqual([URI, `${URI}#side`]);
});

test("a run first asks for the tests, and skips deleted ones", async () => {
  const { server, controller } = await looked();
  const gone = find(controller, "area", "area/1");
  server.names = ["side"];
  await runs(controller, RUN, { include: [gone] });
  expect([server.asked, controller.runs]).toEqual([[], []]);
  expect(listedNow(controller)).toEqual([URI, `${URI}#side`]);
  await runs(controller, RUN);
  expect(server.asked).toEqual([[`${URI}#side`]]);
});

test("a docstring deleted during a run has no coverage and does not end the run", async () => {
  const reached = { reached: [5], unreached: [], branches: [] };
  const { controller } = explorer((_ids, tell) => {
    tell({ id: `${URI}#area`, status: "error", reason: "It is gone.", results: [] }, result("side", ["passed", "passed"], { coverage: reached }));
    return Promise.resolve({ results: [] });
  });
  await runs(controller, COVERAGE);
  expect(window.showErrorMessage).not.toHaveBeenCalled();
  const [run] = controller.runs;
  expect(run?.told).toContain("errored area(1)");
  expect(run?.covered).toHaveLength(1);
});

test.each(["edited", "opened", "closed"])("a file that was %s during the run has a note instead of coverage", async (what) => {
  const coverage = { reached: [99], unreached: [], branches: [] };
  const open = { uri: Uri.file(PATH), languageId: "python", version: 1 };
  workspace.textDocuments = what === "opened" ? [] : [open];
  const { controller } = explorer((_ids, tell) => {
    tell(result("area", ["passed", "passed"], { coverage }));
    workspace.textDocuments = what === "closed" ? [] : [{ ...open, version: 2 }];
    return Promise.resolve({ results: [] });
  });
  await runs(controller, COVERAGE);
  const [run] = controller.runs;
  expect(run?.covered).toEqual([]);
  expect(run?.told.at(-1)).toBe("shapes.py changed during the run: run it again for its coverage.");
});

test("a file that was only opened during the run has its coverage", async () => {
  const coverage = { reached: [99], unreached: [], branches: [] };
  workspace.textDocuments = [];
  const { controller } = explorer((_ids, tell) => {
    tell(result("area", ["passed", "passed"], { coverage }));
    workspace.textDocuments = [{ uri: Uri.file(PATH), languageId: "python", version: 1 }];
    return Promise.resolve({ results: [] });
  });
  await runs(controller, COVERAGE);
  expect(controller.runs[0]?.covered).toHaveLength(1);
});

test("pages with examples are listed, with their examples directly below, and run", async () => {
  files.set("/project/README.md", ">>> 1").set("/project/docs/a.rst", ">>> 1").set("/project/NEWS.md", "None.");
  const { server, controller } = explorer((ids, tell) => {
    tell(...ids.map((id) => ({ ...result("page", []), id, results: [{ id: `${id}/1`, state: "passed" as const, got: "1\n", error: null }] })));
    return Promise.resolve({ results: [] });
  });
  await controller.resolveHandler?.();
  expect(labels(controller.items)).toEqual(["shapes.py", "README.md", "docs", "a.rst"]);
  const page = controller.items.get(Uri.file("/project/README.md").toString());
  if (page === undefined) throw new Error("The page is not listed.");
  await runs(controller, RUN, { include: [page] });
  expect([...page.children].map(([, { label, children }]) => [label, children.size])).toEqual([["page(1)", 0]]);
  expect(server.asked).toEqual([[`${page.id}#__doc__`]]);
  expect(controller.runs[0]?.told).toEqual(["started page(1)", "passed page(1)"]);
});

test("an open page without examples is not asked about", async () => {
  const { server, controller } = await looked();
  const send = vi.spyOn(server, "sendRequest");
  for (const [text, asked] of [["> quoted", 0], [">>> 1", 1]] as const) {
    const uri = Uri.file("/project/notes.md");
    workspace.textDocuments = [{ uri, languageId: "markdown", version: 1, getText: () => text }];
    await edited.fire({ document: { uri } });
    await settle();
    expect(send).toHaveBeenCalledTimes(asked);
    expect(controller.items.get(uri.toString()) !== undefined).toBe(asked === 1);
  }
});

/** Debugs `area` in an explorer where the debugger is installed, unless `before` changes that. */
async function debugged(before: (server: StandIn) => void = () => undefined, ...path: string[]): Promise<readonly unknown[]> {
  installed.add("ms-python.debugpy");
  const { server, controller } = explorer(passing);
  await controller.resolveHandler?.();
  await controller.resolveHandler?.(find(controller));
  before(server);
  await runs(controller, DEBUG, { include: [find(controller, ...(path.length === 0 ? ["area"] : path))] });
  await Promise.resolve();
  expect(controller.runs).toEqual([]);
  return debug.startDebugging.mock.calls.map(([, configuration]) => configuration);
}

const agree = (): unknown => window.showWarningMessage.mockResolvedValueOnce("Debug without Isolation");
const messages = (): readonly unknown[] => window.showWarningMessage.mock.calls.map(([message]) => message);

test.each([["area"], ["area", "area/2"]])("a docstring is debugged without isolation, once the user agrees: %s %s", async (...path) => {
  agree();
  expect(await debugged(undefined, ...path)).toEqual([
    {
      type: "debugpy",
      request: "launch",
      name: "AdaCoder: examples",
      python: ["/usr/bin/python3"],
      program: "/extension/debug_examples.py",
      args: ["%2Fproject", "%2Fproject%2Fsrc", "%2Fproject%2Fshapes.py", "shapes", "area", "import%20os", "A%3D%24%7Bcommand%3Ax%7D%00B%3D2", "ELLIPSIS"],
      console: "internalConsole",
      justMyCode: true,
    },
  ]);
  const [[, options] = []] = window.showWarningMessage.mock.calls;
  expect(options).toMatchObject({ modal: true });
  expect((options as { detail: string }).detail).toContain("run without isolation, under /usr/bin/python3");
});

test("a page has no module, and a launch has no variable for VS Code to replace", async () => {
  agree();
  const [launch] = await debugged((server) => {
    server.debuggee = { ...server.debuggee, path: "/project/${command:x}.md", module: null, qualifiedName: "__doc__" };
  });
  expect(launch).toMatchObject({ args: ["%2Fproject", "%2Fproject%2Fsrc", "%2Fproject%2F%24%7Bcommand%3Ax%7D.md", "", "__doc__", "import%20os", "A%3D%24%7Bcommand%3Ax%7D%00B%3D2", "ELLIPSIS"] });
});

test("an interpreter in a folder whose name VS Code would replace is refused", async () => {
  agree();
  const launches = await debugged((server) => {
    server.debuggee = { ...server.debuggee, interpreter: "/project/${command:x}/.venv/bin/python" };
  });
  expect(launches).toEqual([]);
  expect(messages()).toEqual(["The interpreter's path contains `${`, which VS Code would replace: move it."]);
});

test("a path cannot change the text of the dialog", async () => {
  await debugged((server) => {
    server.debuggee = { ...server.debuggee, path: "/project/a?\n\u202eb.md", interpreter: "/x\u2028y" };
  });
  expect(messages()).toEqual(["Debug examples of /project/a?\ufffd\ufffdb.md?"]);
  const [[, options] = []] = window.showWarningMessage.mock.calls;
  expect((options as { detail: string }).detail).toContain("under /x\ufffdy.");
});

test("nothing is debugged unless the user agrees", async () => {
  expect(await debugged()).toEqual([]);
  expect(messages()).toEqual([`Debug examples of ${PATH}?`]);
});

test("nothing is debugged in an untrusted workspace", async () => {
  agree();
  expect(await debugged(() => { workspace.isTrusted = false; })).toEqual([]);
  expect(messages()).toEqual(["AdaCoder debugs examples only in a trusted workspace: trust it first."]);
});

test("without the debugger, a message says what to install, and shows it", async () => {
  commands.executeCommand.mockClear();
  window.showWarningMessage.mockResolvedValueOnce("Show Extension");
  expect(await debugged(() => { installed.clear(); })).toEqual([]);
  expect(messages()).toEqual(["AdaCoder debugs examples with the extension Python Debugger: install ms-python.debugpy."]);
  expect(commands.executeCommand).toHaveBeenCalledWith("workbench.extensions.search", "ms-python.debugpy");
});

test("several docstrings, and a reason of the server, are answered with a message", async () => {
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  await runs(controller, DEBUG, { include: [find(controller)] });
  await runs(controller, DEBUG);
  const choose = "A debugger runs the examples of one docstring: choose one.";
  expect(messages()).toEqual([choose, choose]);
  window.showWarningMessage.mockClear();
  expect(await debugged((server) => { server.debuggee = { reason: "It is gone." }; })).toEqual([]);
  expect(messages()).toEqual(["It is gone."]);
});
