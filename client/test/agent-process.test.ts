/** The client of `adacoder mcp`, with a stand-in server. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { AgentProcess } from "../src/agent-process";
import { CancellationTokenSource } from "./fake/vscode";

const FAKE = join(import.meta.dirname, "fake", "agent-server.mjs");
const log = vi.fn();

function started(command = process.execPath): AgentProcess {
  const one = new AgentProcess({ command, args: [FAKE], env: { A: "b" }, settings: { isolation: "full" } }, tmpdir(), log);
  onTestFinished(() => {
    one.end();
  });
  return one;
}

const call = (one: AgentProcess, name: string, token = new CancellationTokenSource().token): Promise<unknown> =>
  one.call(name, { path: "a.py" }, token);

test("the settings are declared once, and each call returns its own result, even an error", async () => {
  const one = started();
  const [first, second] = await Promise.all([call(one, "check_examples"), call(one, "verify_candidate")]);
  expect(first).toMatchObject({
    asked: { name: "check_examples", arguments: { path: "a.py" } },
    told: ["initialize", "notifications/initialized", "tools/call"],
    settings: { isolation: "full" },
    root: tmpdir(),
    text: "é\u2028",
  });
  expect(second).toMatchObject({ asked: { name: "verify_candidate" } });
  expect(log).toHaveBeenCalledWith(expect.stringContaining("not JSON"));
});

test("a refusal of the protocol is an error with its message", async () => {
  const one = started();
  await expect(call(one, "unknown")).rejects.toThrow("This tool is unknown.");
  expect(await call(one, "check_examples")).toHaveProperty("asked");
});

test("a cancelled call ends at once, and the server gets a notification", async () => {
  const one = started();
  await call(one, "check_examples");
  const source = new CancellationTokenSource();
  const waiting = call(one, "wait", source.token);
  await vi.waitFor(async () => {
    const { told } = (await call(one, "check_examples")) as { told: string[] };
    expect(told.filter((each) => each === "tools/call").length).toBeGreaterThan(2);
  }, 20_000);
  source.cancel();
  await expect(waiting).rejects.toThrow("cancelled");
  expect(await call(one, "check_examples")).toMatchObject({ told: expect.arrayContaining(["notifications/cancelled"]) as unknown });
});

test("a server that never answers can be left, and is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-mute-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const one = new AgentProcess({ command: "/bin/sh", args: ["-c", "echo $$ > pid; exec sleep 600"], env: {}, settings: {} }, folder, log);
  const source = new CancellationTokenSource();
  const waiting = call(one, "check_examples", source.token);
  source.cancel();
  await expect(waiting).rejects.toThrow("cancelled");
  const other = call(one, "check_examples");
  const pid = await vi.waitFor(() => Number(readFileSync(join(folder, "pid"), "utf8").trim()), 20_000);
  expect(process.kill(pid, 0)).toBe(true);
  one.end();
  await expect(other).rejects.toThrow("has ended");
  await vi.waitFor(() => {
    expect(() => process.kill(pid, 0)).toThrow();
  }, 20_000);
}, 60_000);

test.each([["crash"], ["wait"]])("all calls end with the process: %s", async (name) => {
  const one = started();
  await call(one, "check_examples");
  const both = [call(one, "wait"), call(one, name)];
  if (name === "wait") one.end();
  for (const each of both) await expect(each).rejects.toThrow("has ended");
  expect(one.hasEnded).toBe(true);
  await expect(call(one, "check_examples")).rejects.toThrow("has ended");
});

test("a program that does not exist is an error", async () => {
  await expect(call(started("/no/such/program"), "check_examples")).rejects.toThrow("has ended");
  expect(log).toHaveBeenCalledWith(expect.stringContaining("ENOENT"));
});
