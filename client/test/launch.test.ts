import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { activated, chooseLaunch, environment, hasAdaCoder, locate, whyNotStarted, type Sources } from "../src/launch";

const none: Sources = { path: "", interpreter: undefined, onPath: undefined, own: undefined };
const installed = (): Promise<boolean> => Promise.resolve(true);
const missing = (): Promise<boolean> => Promise.resolve(false);

test("the setting comes before the interpreter", async () => {
  const launch = await chooseLaunch({ ...none, path: "/opt/adacoder", interpreter: "/venv/bin/python" }, "serve", installed);
  expect(launch).toEqual({ command: "/opt/adacoder", args: ["serve"] });
});

test("a setting may begin at the home directory", async () => {
  const launch = await chooseLaunch({ ...none, path: "~/bin/adacoder" }, "serve", missing);
  expect(launch?.command).toBe(join(homedir(), "bin/adacoder"));
});

test("the interpreter's environment comes second, without the project on its path", async () => {
  const launch = await chooseLaunch({ ...none, interpreter: "/venv/bin/python" }, "serve", installed);
  expect(launch).toEqual({ command: "/venv/bin/python", args: ["-P", "-m", "adacoder", "serve"] });
});

test("the PATH comes third, then the private environment, then nothing", async () => {
  const found = { ...none, interpreter: "/venv/bin/python", onPath: "/usr/bin/adacoder", own: "/storage/bin/python" };
  expect(await chooseLaunch(found, "mcp", missing)).toEqual({ command: "/usr/bin/adacoder", args: ["mcp"] });
  expect(await chooseLaunch({ ...found, onPath: undefined }, "serve", missing)).toEqual({
    command: "/storage/bin/python",
    args: ["-I", "-m", "adacoder", "serve"],
  });
  expect(await chooseLaunch({ ...none, interpreter: "/venv/bin/python" }, "serve", missing)).toBeUndefined();
  expect(await chooseLaunch(none, "serve", installed)).toBeUndefined();
});

test("a missing program or one other than Python does not have AdaCoder", async () => {
  expect(await hasAdaCoder("/no/such/python")).toBe(false);
  expect(await hasAdaCoder(process.execPath)).toBe(false);
});

/** A Python of an environment in `folder` that has nothing installed, whatever the one on the PATH has. */
function emptyEnvironment(folder: string): string | undefined {
  const made = spawnSync("python3", ["-m", "venv", "--without-pip", join(folder, "empty")]);
  return made.status === 0 ? join(folder, "empty", "bin", "python") : undefined;
}

test("AdaCoder is taken from Python's own path, never from the project", async ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-"));
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  vi.stubEnv("PYTHONPATH", "");
  vi.stubEnv("PYTHONSAFEPATH", "");
  const python = emptyEnvironment(folder) ?? skip("there is no Python to make an environment with");
  writeFileSync("adacoder.py", "");
  expect(spawnSync(python, ["-c", "import adacoder"]).status).toBe(0);
  expect(await hasAdaCoder(python)).toBe(false);
  vi.stubEnv("PYTHONPATH", folder);
  expect(await hasAdaCoder(python)).toBe(true);
});

const notFound = "Launching server using command adacoder failed. Error: spawn adacoder ENOENT";

test("a message reports a setting that names a missing program", () => {
  expect(whyNotStarted({ ...none, path: "/opt/x" }, notFound)).toBe(
    "/opt/x cannot be run: correct or clear the setting adacoder.path.",
  );
});

test("a server that ran and stopped is not reported as missing", () => {
  const message = whyNotStarted({ ...none, path: "/opt/x" }, new Error("Pending response rejected"));
  expect(message).toContain("see its log");
  expect(whyNotStarted(none, notFound)).toBe(message);
});

/** A project with a program in it, and a separate folder of programs with another. */
function disk(): { project: string; bin: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "adacoder-")));
  onTestFinished(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });
  const [project, bin] = [join(folder, "project"), join(folder, "bin")];
  for (const place of [project, bin]) {
    mkdirSync(place);
    writeFileSync(join(place, "adacoder"), "");
    chmodSync(join(place, "adacoder"), 0o755);
  }
  return { project, bin };
}

test("a program is found by its absolute path, in the order of the PATH", () => {
  const { project, bin } = disk();
  expect(locate("adacoder", `/nowhere${delimiter}${bin}`, [])).toBe(join(bin, "adacoder"));
  expect(locate("adacoder", [project, bin].join(delimiter), [])).toBe(join(project, "adacoder"));
  expect(locate("/opt/x/adacoder", bin, [])).toBe("/opt/x/adacoder");
  expect(locate("other", bin, [])).toBeUndefined();
});

test("the working directory never decides which program starts", () => {
  const { project, bin } = disk();
  vi.spyOn(process, "cwd").mockReturnValue(project);
  for (const entry of ["", ".", "./", "bin", "../project"]) {
    expect(locate("adacoder", entry, [])).toBeUndefined();
    expect(locate("adacoder", [entry, bin].join(delimiter), [])).toBe(join(bin, "adacoder"));
  }
  for (const command of ["./adacoder", "bin/adacoder", "..\\adacoder"]) {
    expect(locate(command, bin, [])).toBeUndefined();
  }
});

test("a program inside an untrusted workspace is never started, even through a link", () => {
  const { project, bin } = disk();
  const [into, out] = [join(bin, "into"), join(project, "out")];
  symlinkSync(project, into);
  symlinkSync(bin, out);
  for (const folder of [project, join(project, "..", "project"), into, out]) {
    expect(locate("adacoder", folder, [project])).toBeUndefined();
    expect(locate("adacoder", folder, [])).toBe(join(folder, "adacoder"));
    expect(locate("adacoder", [folder, bin].join(delimiter), [project])).toBe(join(bin, "adacoder"));
  }
});

test("a folder and a file without execute permission are not programs", () => {
  const { project, bin } = disk();
  mkdirSync(join(project, "sub", "adacoder"), { recursive: true });
  chmodSync(join(bin, "adacoder"), 0o644);
  expect(locate("adacoder", [join(project, "sub"), bin].join(delimiter), [])).toBeUndefined();
});

test("the environment keeps the project's modules out of the server", () => {
  const own = { PATH: "/usr/bin", PYTHONPATH: ["", ".", "src", "/lib"].join(delimiter), PYTHONSTARTUP: "x", HOME: "/h" };
  expect(environment(own, true)).toEqual({ PATH: "/usr/bin", PYTHONPATH: "/lib", PYTHONSTARTUP: "x", HOME: "/h" });
  expect(environment(own, false)).toEqual({ PATH: "/usr/bin", HOME: "/h" });
  expect(environment({ PYTHONPATH: "." }, true)).toEqual({});
});

test.skipIf(process.platform === "win32")("the selected interpreter is activated, in place of any other", () => {
  const folder = mkdtempSync(join(tmpdir(), "adacoder-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const own = { PATH: "/usr/bin", VIRTUAL_ENV: "/other", CONDA_PREFIX: "/conda", HOME: "/h" };
  const interpreter = join(folder, "bin/python");
  const path = [join(folder, "bin"), "/usr/bin"].join(delimiter);
  expect(activated(own, undefined)).toEqual(own);
  expect(activated(own, interpreter)).toEqual({ PATH: path, HOME: "/h" });
  writeFileSync(join(folder, "pyvenv.cfg"), "");
  expect(activated(own, interpreter)).toEqual({ PATH: path, HOME: "/h", VIRTUAL_ENV: folder });
  expect(activated({}, interpreter)["PATH"]).toBe(join(folder, "bin"));
});
