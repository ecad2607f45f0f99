/** Runs in the Test Explorer, with a server that answers as the test says. */

import { LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import { beforeEach, expect, test, vi } from "vitest";

import type { Server } from "../src/server";
import { registerTests } from "../src/tests/explorer";
import type { DocstringResult, ExampleResult } from "../src/tests/results";
import { CancellationTokenSource, Uri, commands, controllers, files, saved, window, type Request, type TestController, type TestItem } from "./fake/vscode";

vi.mock("vscode", () => import("./fake/vscode"));
vi.mock("vscode-languageclient/node", () => import("vscode-languageserver-protocol/node"));

const RUN = 0;
const COVERAGE = 1;
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

/** A server of which it is known what it was asked, and how often it was started. */
class StandIn {
  readonly asked: (readonly string[])[] = [];
  starts = 0;
  readonly condition = { kind: "running" };
  readonly onDidChange = (): { dispose(): void } => ({ dispose: () => undefined });
  private isRunning = false;
  private tell: (part: { results: readonly DocstringResult[] }) => void = () => undefined;

  /** The answer to `adacoder/examples`. */
  listing: object = { items: [documented("area", 3), documented("side", 20)] };

  constructor(private readonly check: Check) {}

  get current(): StandIn | undefined {
    return this.isRunning ? this : undefined;
  }

  readonly code2ProtocolConverter = { asUri: String };
  readonly protocol2CodeConverter = { asRange: (range: unknown) => range };

  running(): Promise<StandIn> {
    if (!this.isRunning) this.starts += 1;
    this.isRunning = true;
    return Promise.resolve(this);
  }

  onProgress(_type: unknown, _token: string, tell: StandIn["tell"]): { dispose(): void } {
    this.tell = tell;
    return { dispose: () => undefined };
  }

  async sendRequest(method: string, params: { ids: readonly string[] }, token: CancellationTokenSource["token"]): Promise<object> {
    if (method === "adacoder/examples") return this.listing;
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
  registerTests(server as unknown as Server);
  const controller = controllers.at(-1);
  if (controller === undefined) throw new Error("There is no test controller.");
  return { server, controller };
}

function runs(controller: TestController, profile: number, request: Request = {}, from = new CancellationTokenSource()): Promise<void> {
  return controller.profiles[profile]?.handler(request, from.token) ?? Promise.reject(new Error("There is no such profile."));
}

function find(controller: TestController, ...path: string[]): TestItem {
  let found: TestItem | undefined = controller.items.get(URI);
  for (const id of path) found = found?.children.get(`${URI}#${id}`);
  if (found === undefined) throw new Error(`There is no test ${path.join(" > ")}.`);
  return found;
}

beforeEach(() => {
  files.clear();
  files.set(PATH, ">>> area(1)").set("/project/plain.py", "x = 1");
});

test("files are listed without a server, and it is started when somebody looks into one", async () => {
  const { server, controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect([...controller.items].map(([, { label }]) => label)).toEqual(["shapes.py"]);
  expect(server.starts).toBe(0);
  await controller.resolveHandler?.(find(controller));
  expect([...find(controller).children].map(([, { label }]) => label)).toEqual(["area", "side"]);
  expect(server.starts).toBe(1);
});

test("a package that is called as built files are is listed, and no built files", async () => {
  files.set("/project/src/build/__init__.py", "").set("/project/src/build/env.py", ">>> 1").set("/project/build/lib/a.py", ">>> 1");
  const { controller } = explorer(passing);
  await controller.resolveHandler?.();
  expect([...controller.items].map(([, { label }]) => label)).toEqual(["shapes.py", "src/build/env.py"]);
});

test("a file that cannot be read whole stays, and is an error of a run", async () => {
  const { server, controller } = explorer(passing);
  server.listing = { items: [], reason: "Line 1 is a syntax error." };
  await runs(controller, RUN);
  expect(find(controller).error).toBe("Line 1 is a syntax error.");
  expect(server.asked).toEqual([]);
  expect(controller.runs.map(({ told, ended }) => [told, ended])).toEqual([[["errored shapes.py"], true]]);
  files.delete(PATH);
  await controller.resolveHandler?.(find(controller));
  expect(controller.items.get(URI)).toBeUndefined();
});

test("all is run in one request, and one example with its docstring", async () => {
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

test("a failure is a difference at the line of its example", async () => {
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

test("cancelling a run cancels its request, and ends it with what was found until then", async () => {
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

test("a request that fails ends the run, and is told with the log at hand", async () => {
  window.showErrorMessage.mockResolvedValueOnce("Show Log");
  const { controller } = explorer(() => Promise.reject(new Error("it broke")));
  await runs(controller, RUN);
  expect(controller.runs[0]?.ended).toBe(true);
  expect(window.showErrorMessage.mock.calls).toEqual([["AdaCoder could not run the examples: Error: it broke", "Show Log"]]);
  await vi.waitFor(() => {
    expect(commands.executeCommand).toHaveBeenCalledWith("adacoder.showLog");
  });
});

test("a continuous run runs what is saved, and nothing else, until it is cancelled", async () => {
  const { server, controller } = explorer(passing);
  expect(controller.profiles.map(({ supportsContinuousRun }) => supportsContinuousRun)).toEqual([true, true]);
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
  // Of one request VS Code would show what is worse: each run has its own.
  expect(new Set([request, ...controller.runs.map((run) => run.request)]).size).toBe(3);
  watching.cancel();
  await saved.fire({ uri: Uri.file(PATH) });
  expect(server.asked).toHaveLength(2);
});

test("coverage has the lines that no example reached, and the branches that were never taken", async () => {
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
