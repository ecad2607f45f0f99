/** Buttons, tools for agents and recovery from a crash, with a server that records its requests. */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { LogOutputChannel, TestItem } from "vscode";

import type { Ended, Remedy } from "../src/ending";
import type { Program } from "../src/launch";
import { fixTest } from "../src/requests";
import { Results } from "../src/results";
import type { Client, Server } from "../src/server";
import type { Job } from "../src/situation";
import { Status } from "../src/status";
import { TOOLS } from "../src/tool-texts";
import { registerTools } from "../src/tools";
import { CancellationTokenSource, EventEmitter, Uri, commands, configured, env, folders, fronted, offered, settings, window, workspace, type LanguageModelToolResult } from "./fake/vscode";

vi.mock("vscode-languageclient/node", () => import("vscode-languageserver-protocol/node"));

const PATIENCE_MS = 20_000;
const FAKE_AGENT_SERVER = join(import.meta.dirname, "fake", "agent-server.mjs");

interface Asked {
  readonly command?: string;
  readonly arguments?: readonly unknown[];
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

  settings = {};
  isInstalled = true;
  program(): Promise<Program | undefined> {
    const program = { command: process.execPath, args: [FAKE_AGENT_SERVER], env: {}, settings: this.settings };
    return Promise.resolve(this.isInstalled ? program : undefined);
  }

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

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** The environment of a user whose `PATH` is a folder with or without Ollama's program. */
async function withoutServer({ has, host, trusted = true }: { has: boolean; host?: string; trusted?: boolean }): Promise<string[]> {
  const folder = temporary();
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

interface Offered {
  prepareInvocation(options: object): { confirmationMessages: { message: string } };
  invoke(options: object, token: CancellationTokenSource["token"]): Promise<LanguageModelToolResult>;
}

/** A file that no folder has. It belongs to the first folder. */
const NOWHERE = { path: "nowhere.py" };

async function called(tool: string, input: object): Promise<Record<string, unknown>> {
  const { token } = new CancellationTokenSource();
  const { content } = await (offered.get(`adacoder_${tool}`) as Offered).invoke({ input }, token);
  return JSON.parse(content.map(({ value }) => value).join("")) as Record<string, unknown>;
}

async function setTools(isOn: boolean): Promise<void> {
  settings.set("adacoder.agentTools", isOn);
  await configured.fire({ affectsConfiguration: () => true });
}

/** The tools of a stand-in for `adacoder mcp`, with two more workspace folders on the disk. */
async function tooled(): Promise<{ standIn: StandIn; first: string; second: string; has: (path: string, languageId?: string) => void }> {
  const standIn = new StandIn();
  const [first, second] = [temporary(), temporary()];
  folders.unshift({ name: "first", uri: Uri.file(first) }, { name: "second", uri: Uri.file(second) });
  const registered = registerTools(standIn.server, { info: vi.fn() } as unknown as LogOutputChannel);
  onTestFinished(() => {
    for (const each of registered) each.dispose();
    folders.splice(0, 2);
    workspace.textDocuments = [];
  });
  await setTools(true);
  const has = (path: string, languageId = "python"): void => {
    writeFileSync(path, "");
    workspace.textDocuments.push({ uri: Uri.file(path), languageId, isDirty: true });
  };
  return { standIn, first, second, has };
}

test("tools exist while the setting is on and the workspace is trusted", async () => {
  await tooled();
  expect([...offered.keys()]).toEqual(TOOLS.map((tool) => `adacoder_${tool}`));
  const { pid } = await called("check_examples", NOWHERE);
  const isRunning = (): boolean => process.kill(pid as number, 0);
  expect(isRunning()).toBe(true);
  await setTools(false);
  expect([...offered.keys()]).toEqual([]);
  await vi.waitFor(() => {
    expect(isRunning).toThrow();
  }, PATIENCE_MS);
  workspace.isTrusted = false;
  await setTools(true);
  expect([...offered.keys()]).toEqual([]);
});

test("each folder has one process, and a path is called in its own folder", async () => {
  const { standIn, first, second } = await tooled();
  writeFileSync(join(second, "b.py"), "");
  const calls = [NOWHERE, { path: "a.py" }, { path: "b.py" }, { path: join(second, "b.py") }, { path: "/elsewhere/c.py" }];
  const found = await Promise.all(calls.map((input) => called("check_examples", input)));
  expect(found.map(({ root }) => root)).toEqual([first, first, second, second, first]);
  expect(found.map(({ asked }) => asked)).toEqual(calls.map((input) => ({ name: "check_examples", arguments: input })));
  expect(new Set(found.map(({ pid }) => pid)).size).toBe(2);

  standIn.settings = { isolation: "full" };
  const renewed = await called("check_examples", NOWHERE);
  expect(renewed).toMatchObject({ settings: { isolation: "full" } });
  expect(renewed["pid"]).not.toBe(found[0]?.["pid"]);

  process.kill(renewed["pid"] as number);
  await vi.waitFor(async () => {
    expect((await called("check_examples", NOWHERE))["pid"]).not.toBe(renewed["pid"]);
  }, PATIENCE_MS);
});

test("a path that may be in several folders is not guessed", async () => {
  const { first, second } = await tooled();
  for (const folder of [first, second]) writeFileSync(join(folder, "a.py"), "");
  for (const input of [{ path: "a.py" }, { base: "HEAD" }, { path: null }]) {
    const { verdict, next } = await called("check_examples", input);
    expect([verdict, next]).toEqual(["not_run", expect.stringContaining("call the tool again with an absolute path below one of")]);
    expect(next).toContain(`${first}, ${second}`);
  }
  expect(await called("check_examples", { path: join(second, "a.py") })).toMatchObject({ root: second });
});

test("a file with unsaved changes is not checked, because the tools read the disk", async () => {
  const { first, second, has } = await tooled();
  has(join(first, "notes.md"), "markdown");
  expect(await called("check_examples", NOWHERE)).toHaveProperty("root");
  has(join(second, "a.py"));
  writeFileSync(join(first, "a.py"), "");
  symlinkSync(join(second, "a.py"), join(first, "link.py"));
  expect(await called("check_examples", { path: join(first, "a.py") })).toHaveProperty("root");
  for (const path of ["link.py", second, join(second, "a.py")]) {
    const { verdict, next } = await called("insert_verified", { path, name: "f", code: "" });
    expect([verdict, next]).toEqual(["not_run", expect.stringContaining("unsaved changes, so nothing ran: save ")]);
    expect(next).toContain(path);
  }
  const others = folders.splice(1);
  expect(await called("check_examples", { base: "HEAD" })).toHaveProperty("root");
  has(join(first, "own.py"));
  expect((await called("check_examples", { base: "HEAD" }))["next"]).toContain("A Python file has unsaved changes");
  folders.push(...others);
});

test("a tool asks first, and an uninstalled server is an error", async () => {
  const { standIn } = await tooled();
  const { confirmationMessages } = (offered.get("adacoder_generate") as Offered).prepareInvocation({ input: { path: "a.py", name: "f" } });
  expect(confirmationMessages.message).toContain("which may be remote");
  standIn.isInstalled = false;
  await expect(called("check_examples", NOWHERE)).rejects.toThrow("not installed");
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
