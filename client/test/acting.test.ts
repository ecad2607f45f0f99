/** Buttons, tools for agents and recovery from a crash, with a server that records its requests. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import type { TestItem } from "vscode";

import type { Ended, Remedy } from "../src/ending";
import { fixTest } from "../src/requests";
import { Results } from "../src/results";
import type { Client, Server } from "../src/server";
import type { Job } from "../src/situation";
import { Status } from "../src/status";
import { registerTools } from "../src/tools";
import { CancellationTokenSource, EventEmitter, Uri, commands, configured, env, fronted, offered, settings, window, workspace, type LanguageModelToolResult } from "./fake/vscode";

vi.mock("vscode", () => import("./fake/vscode"));
vi.mock("vscode-languageclient/node", () => import("vscode-languageserver-protocol/node"));

interface Asked {
  readonly command?: string;
  readonly arguments?: readonly unknown[];
  readonly qualifiedName?: string;
}

/** A server with a fixed answer to each command. */
class StandIn {
  readonly asked: (readonly [method: string, asked: Asked])[] = [];
  readonly answers: Record<string, unknown> = { "adacoder.server.doctor": { findings: [] }, "adacoder.server.status": { jobs: [] } };
  readonly changed = new EventEmitter<{ kind: string }>();
  readonly crashed = new EventEmitter<{ isGivenUp: boolean }>();
  readonly worked = new EventEmitter<StandIn>();
  readonly onDidChange = this.changed.event;
  readonly onDidCrash = this.crashed.event;
  readonly onDidWork = this.worked.event;
  readonly condition = { kind: "running" };
  readonly code2ProtocolConverter = { asUri: String, asPosition: (position: unknown) => position };
  readonly restart = vi.fn(() => Promise.resolve());
  readonly current = this;

  running(): Promise<StandIn> {
    return Promise.resolve(this);
  }

  sendRequest(method: string | { readonly method: string }, params: Asked): Promise<unknown> {
    const name = typeof method === "string" ? method : method.method;
    this.asked.push([name, params]);
    return Promise.resolve(this.answers[params.command ?? name]);
  }

  get server(): Server {
    return this as unknown as Server;
  }
}

/** The messages shown to the user, each with its buttons. */
const shown = (): readonly (readonly string[])[] => window.showErrorMessage.mock.calls as string[][];
const answers = (...titles: readonly string[]): void => {
  for (const title of titles) window.showErrorMessage.mockResolvedValueOnce(title);
};

beforeEach(() => {
  vi.clearAllMocks();
  settings.clear();
  window.activeTextEditor = undefined;
  workspace.isTrusted = true;
  env.remoteName = undefined;
  vi.unstubAllEnvs();
});

const ended = (...remedies: readonly Remedy[]): Ended => ({
  jobId: "j",
  message: "No.",
  isGood: false,
  kept: false,
  textDocument: { uri: "file:///project/a.py", version: 1 },
  remedies,
});

test.each([
  ["Open Settings", "workbench.action.openSettings", "@id:adacoder.ollama.host"],
  ["Show Journal", "markdown.showPreview", expect.anything()],
])("the button %s runs its command", async (title, command, argument: unknown) => {
  const standIn = new StandIn();
  standIn.answers["adacoder.server.journal"] = { markdown: "# Journal" };
  answers(title);
  await new Results(standIn.server).show(ended({ kind: "setting", key: "ollama.host" }));
  expect(shown()).toEqual([["No.", "Open Settings", "Show Journal"]]);
  expect(commands.executeCommand.mock.calls).toEqual([[command, argument]]);
});

test("Open Settings opens the remote machine's settings in a remote window", async () => {
  env.remoteName = "wsl";
  answers("Open Settings");
  await new Results(new StandIn().server).show(ended({ kind: "setting", key: "ollama.host" }));
  expect(commands.executeCommand.mock.calls).toEqual([
    ["workbench.action.openRemoteSettings", { query: "@id:adacoder.ollama.host" }],
  ]);
});

/** The environment of a user whose `PATH` is a folder with or without Ollama's program. */
async function withoutServer({ has, host, trusted = true }: { has: boolean; host?: string; trusted?: boolean }): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-path-"));
  if (has) writeFileSync(join(folder, "ollama"), "", { mode: 0o755 });
  vi.stubEnv("PATH", folder);
  vi.stubEnv("OLLAMA_HOST", undefined);
  if (host !== undefined) settings.set("ollama.host", host);
  workspace.isTrusted = trusted;
  await new Results(new StandIn().server).show(ended({ kind: "start" }));
  return (shown().at(-1) ?? []).slice(1).filter((title) => title.endsWith("Ollama"));
}

test("Start Ollama shows a terminal and refreshes the status until Ollama answers", async () => {
  answers("Start Ollama");
  commands.executeCommand.mockResolvedValueOnce(undefined).mockResolvedValueOnce(true as never);
  expect(await withoutServer({ has: true, host: "localhost:11500" })).toEqual(["Start Ollama"]);
  const [[made] = []] = window.createTerminal.mock.calls;
  expect(made).toMatchObject({ name: "Ollama", shellArgs: ["serve"], env: { OLLAMA_HOST: "localhost:11500" } });
  expect(made?.shellPath).toMatch(/\/ollama$/);
  expect(window.createTerminal.mock.results.map(({ value }) => (value as { show: object }).show)).toEqual([expect.anything()]);
  expect(commands.executeCommand.mock.calls).toEqual([["adacoder.refreshStatus"], ["adacoder.refreshStatus"]]);
});

test("Install Ollama opens the download page if the program is missing", async () => {
  answers("Install Ollama");
  expect(await withoutServer({ has: false })).toEqual(["Install Ollama"]);
  expect(env.openExternal.mock.calls.map(([uri]) => uri.toString())).toEqual(["https://ollama.com/download"]);
  expect(window.createTerminal).not.toHaveBeenCalled();
});

test("Ollama is not started for an untrusted folder or a remote address", async () => {
  expect(await withoutServer({ has: true, trusted: false })).toEqual(["Install Ollama"]);
  for (const host of ["gpu:11434", "http://10.0.0.7", "[2001:db8::1]:11434", "ollama.example.org"]) {
    expect(await withoutServer({ has: true, host })).toEqual([]);
  }
  for (const host of ["", "localhost", "127.0.0.1:11434", "http://[::1]:11434/", "0.0.0.0", ":8000"]) {
    expect(await withoutServer({ has: true, host })).toEqual(["Start Ollama"]);
  }
});

test("a download refreshes the status", async () => {
  const standIn = new StandIn();
  standIn.answers["adacoder.server.pull"] = { pulled: true, reason: null };
  answers("Pull Model");
  await new Results(standIn.server).show(ended({ kind: "pull", model: "m:7b" }));
  expect(commands.executeCommand.mock.calls).toEqual([["adacoder.refreshStatus"]]);
});

test.each([
  ["a journal", "Show Journal", { jobId: "j" }],
  ["a log", "Show Log", { jobId: null }],
])("a success longer than one line has %s, because VS Code cuts messages without buttons", async (_, button, more) => {
  const good = { ...ended(), isGood: true };
  await new Results(new StandIn().server).show({ ...good, message: "Inserted 'f'. 3/3 examples passed." });
  await new Results(new StandIn().server).show({ ...good, message: "Inserted 'f'. 3/3 examples passed. And much more. ".repeat(3), ...more });
  expect(shown().map((each) => each.slice(1))).toEqual([[], [button]]);
});

test("a dropped journal is reported as gone, not as never written", async () => {
  const standIn = new StandIn();
  standIn.answers["adacoder.server.journal"] = null;
  answers("Show Journal");
  await new Results(standIn.server).show(ended());
  await vi.waitFor(() => {
    expect(shown()[1]).toEqual(["That journal is gone: only the latest are kept."]);
  });
});

test("Pull Model downloads the model, reports a failure, and offers to try again", async () => {
  const standIn = new StandIn();
  standIn.answers["adacoder.server.pull"] = { pulled: false, reason: "The disk is full." };
  answers("Pull Model", "Try Again", "Show Log");
  await new Results(standIn.server).show(ended({ kind: "pull", model: "m:7b" }));
  const asked = [expect.anything(), { command: "adacoder.server.pull", arguments: [{ model: "m:7b" }] }];
  expect(standIn.asked).toMatchObject([asked, asked]);
  expect(shown().slice(1)).toEqual(Array(2).fill(["The disk is full.", "Try Again", "Show Log"]));
  expect(commands.executeCommand.mock.calls).toEqual([["adacoder.showLog"]]);
});

// Tools for agents

const FAILED = {
  status: "partial",
  reason: "a secret",
  examples: { passed: 0, total: 1 },
  failure: { example: "f(1)\n", want: "1\n", got: "2\n", error: null },
};

interface Offered {
  prepareInvocation(options: object): { confirmationMessages: { message: string } };
  invoke(options: object, token: CancellationTokenSource["token"]): Promise<LanguageModelToolResult>;
}

test("tools exist while the setting is on, ask first, and report only the verdict and the failing example", async () => {
  const standIn = new StandIn();
  registerTools(standIn.server);
  expect([...offered.keys()]).toEqual([]);
  settings.set("adacoder.agentTools", true);
  await configured.fire({ affectsConfiguration: () => true });
  expect([...offered.keys()]).toEqual(["adacoder_check", "adacoder_verify", "adacoder_generate"]);

  const input = { file: "a.py", function: "f", candidate: "def f(x): return 2" };
  const verify = offered.get("adacoder_verify") as Offered;
  expect(verify.prepareInvocation({ input }).confirmationMessages.message).toContain("which may be remote");
  standIn.answers["adacoder/run"] = FAILED;
  const { content } = await verify.invoke({ input }, new CancellationTokenSource().token);
  expect(content.map(({ value }) => value).join("")).toMatch(/^Verdict: partial\. 0\/1 examples passed\.\nFailing example:\nf\(1\)/);
  expect(JSON.stringify(content)).not.toContain("secret");
  expect(standIn.asked[0]?.[1]).toMatchObject({ qualifiedName: "f", mode: "repair", apply: true, candidate: input.candidate });
  for (const file of ["/etc/passwd", "../other/a.py"]) {
    const elsewhere = await verify.invoke({ input: { ...input, file } }, new CancellationTokenSource().token);
    expect(JSON.stringify(elsewhere.content)).toContain("not a file of this workspace");
  }
  expect(standIn.asked).toHaveLength(1);

  settings.set("adacoder.agentTools", false);
  await configured.fire({ affectsConfiguration: () => true });
  expect([...offered.keys()]).toEqual([]);
});

// After a crash

const JOB: Job = { jobId: "1", uri: "file:///a.py", qualifiedName: "f", target: "a.py::f", mode: "generate", message: "round 1" };

async function atWork(): Promise<StandIn> {
  const standIn = new StandIn();
  standIn.answers["adacoder.server.status"] = { jobs: [JOB] };
  new Status(standIn.server, () => undefined);
  await standIn.worked.fire(standIn);
  await vi.waitFor(() => {
    expect(standIn.asked.map(([, { command }]) => command)).toContain("adacoder.server.status");
  });
  return standIn;
}

test("a message after a crash names the lost job, and one click runs it again", async () => {
  const standIn = await atWork();
  answers("Run Again");
  await standIn.crashed.fire({ isGivenUp: false });
  expect(shown()).toEqual([]);
  await standIn.changed.fire({ kind: "running" });
  await vi.waitFor(() => {
    expect(commands.executeCommand).toHaveBeenCalledWith("adacoder.server.generate", { uri: JOB.uri, qualifiedName: "f" });
  });
  expect(shown()).toEqual([["AdaCoder's server crashed while generating 'f'. It has restarted.", "Run Again", "Show Log"]]);
});

test("a message after five crashes restarts the server and runs the lost job again", async () => {
  const standIn = await atWork();
  answers("Restart Server", "Run Again");
  await standIn.crashed.fire({ isGivenUp: true });
  await vi.waitFor(() => {
    expect(standIn.restart).toHaveBeenCalledOnce();
  });
  expect(shown()).toEqual([[expect.stringContaining("for the fifth time"), "Restart Server", "Show Log"]]);
  await standIn.changed.fire({ kind: "running" });
  await vi.waitFor(() => {
    expect(commands.executeCommand).toHaveBeenCalledWith("adacoder.server.generate", { uri: JOB.uri, qualifiedName: "f" });
  });
});

test("the status describes the folder of the active Python file", async () => {
  const standIn = new StandIn();
  new Status(standIn.server, () => undefined);
  const front = async (path: string, languageId = "python"): Promise<void> => {
    window.activeTextEditor = { document: { uri: Uri.file(path), languageId } };
    await fronted.fire(undefined);
  };
  await front("/project/a.py");
  await front("/project/b.py");
  await front("/second/c.md", "markdown");
  await front("/second/c.py");
  const asked = standIn.asked.filter(([, { command }]) => command === "adacoder.server.doctor");
  expect(asked.map(([, each]) => each.arguments)).toEqual([
    [{ probe: false, uri: "file:///project/a.py" }],
    [{ probe: false, uri: "file:///second/c.py" }],
  ]);
});

test("the status shows the later of two examinations, whichever is answered first", async () => {
  const made = vi.spyOn(window, "createStatusBarItem");
  const status = (): string => (made.mock.results.at(-1)?.value as { text: string }).text;
  const found = (model: string): object => ({ findings: [{ name: "Model", ok: true, text: "", advice: "", model }] });
  const standIn = new StandIn();
  let tell: (answer: object) => void = () => undefined;
  standIn.answers["adacoder.server.doctor"] = new Promise<object>((resolve) => {
    tell = resolve;
  });
  new Status(standIn.server, () => undefined);
  await standIn.changed.fire({ kind: "running" });
  standIn.answers["adacoder.server.doctor"] = found("later");
  await configured.fire({ affectsConfiguration: () => true });
  await vi.waitFor(() => {
    expect(status()).toContain("later");
  });
  tell(found("earlier"));
  await new Promise(setImmediate);
  expect(status()).toContain("later");
});

const PYTEST = "/p/test_a.py::TestA::test_b";
const RANGE = { start: { line: 3, character: 4 }, end: { line: 5, character: 0 } };
const FILE_OF_TEST = Uri.file("/p/test_a.py");
const EXAMPLE = `${FILE_OF_TEST.toString()}#f/1`;

test.each([
  [PYTEST, RANGE, "fixTest", { test: "TestA::test_b" }],
  [`${PYTEST}[1-2]`, undefined, "fixTest", { test: "TestA::test_b[1-2]" }],
  ["/p/test_a.py/TestA/test_b", RANGE, "fixTest", { position: RANGE.start }],
  [EXAMPLE, RANGE, "fix", { position: RANGE.start }],
])("the test %s is fixed by its name or its line", async (id, range, command, asked) => {
  const standin = new StandIn();
  await fixTest(standin as unknown as Client, { id, uri: FILE_OF_TEST, range } as unknown as TestItem);
  const [, sent] = standin.asked.at(-1) ?? [];
  expect(sent).toEqual({ command: `adacoder.server.${command}`, arguments: [{ uri: FILE_OF_TEST.toString(), ...asked }] });
});

test.each([[FILE_OF_TEST.toString(), FILE_OF_TEST], ["/p/test_a.py", FILE_OF_TEST], ["/p", undefined]])(
  "nothing is asked about %s, which is not a single test",
  async (id, uri) => {
    const standin = new StandIn();
    await fixTest(standin as unknown as Client, { id, uri, range: undefined } as unknown as TestItem);
    expect(standin.asked).toEqual([]);
  },
);
