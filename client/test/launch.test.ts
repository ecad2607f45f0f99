import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { chooseLaunch, hasAdaCoder, whyNotStarted, type Sources } from "../src/launch";

const none: Sources = { path: "", interpreter: undefined, trusted: true };
const installed = (): Promise<boolean> => Promise.resolve(true);
const missing = (): Promise<boolean> => Promise.resolve(false);

test("the setting comes first, whatever the interpreter has", async () => {
  const launch = await chooseLaunch({ ...none, path: "/opt/adacoder", interpreter: "/venv/bin/python" }, installed);
  expect(launch).toEqual({ command: "/opt/adacoder", args: ["serve"] });
});

test("a setting may begin at the home directory", async () => {
  const launch = await chooseLaunch({ ...none, path: "~/bin/adacoder" }, missing);
  expect(launch.command).toBe(join(homedir(), "bin/adacoder"));
});

test("the interpreter's environment comes next, and the project is not on its path", async () => {
  const launch = await chooseLaunch({ ...none, interpreter: "/venv/bin/python" }, installed);
  expect(launch).toEqual({ command: "/venv/bin/python", args: ["-P", "-m", "adacoder", "serve"] });
});

test("the PATH comes last", async () => {
  const onPath = { command: "adacoder", args: ["serve"] };
  expect(await chooseLaunch({ ...none, interpreter: "/venv/bin/python" }, missing)).toEqual(onPath);
  expect(await chooseLaunch(none, installed)).toEqual(onPath);
});

test("a program that is no Python, or is not there, has no AdaCoder", async () => {
  expect(await hasAdaCoder("/no/such/python")).toBe(false);
  expect(await hasAdaCoder(process.execPath)).toBe(false);
});

const PYTHON = "python3";
const hasPython = spawnSync(PYTHON, ["-P", "-c", ""]).status === 0;

test.skipIf(!hasPython)("a module of the project is not taken for AdaCoder, one on Python's own path is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-"));
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  writeFileSync("adacoder.py", "");
  vi.stubEnv("PYTHONPATH", "");
  expect(await hasAdaCoder(PYTHON)).toBe(false);
  vi.stubEnv("PYTHONPATH", folder);
  expect(await hasAdaCoder(PYTHON)).toBe(true);
});

const notFound = "Launching server using command adacoder failed. Error: spawn adacoder ENOENT";

test("a server that is not installed is told with the command that installs it", () => {
  expect(whyNotStarted({ ...none, interpreter: "/venv/bin/python" }, notFound)).toBe(
    "AdaCoder is not installed for /venv/bin/python: run `pip install .` for it in a checkout of AdaCoder, or set adacoder.path.",
  );
  expect(whyNotStarted(none, notFound)).toBe(
    "AdaCoder is not installed: run `pip install .` in a checkout of it, or set adacoder.path.",
  );
});

test("in a workspace that is not trusted nobody is told to install what may be installed", () => {
  const message = whyNotStarted({ ...none, trusted: false }, notFound);
  expect(message).toContain("trust this workspace");
  expect(message).not.toContain("pip install");
});

test("a setting that names no program is told as such", () => {
  expect(whyNotStarted({ ...none, path: "/opt/x", interpreter: "/venv/bin/python" }, notFound)).toBe(
    "/opt/x cannot be run: correct or clear the setting adacoder.path.",
  );
});

test("a server that ran and stopped is not said to be missing", () => {
  const message = whyNotStarted(none, new Error("Pending response rejected"));
  expect(message).not.toContain("not installed");
  expect(message).toContain("output");
});
