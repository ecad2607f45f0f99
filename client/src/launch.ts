/**
 * Which program is the AdaCoder server, and what to tell a user when it does not start.
 * Knows nothing of VS Code.
 */

import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path";

/** Where a server may be found. */
export interface Sources {
  /** Setting `adacoder.path`; empty if it is not set. */
  readonly path: string;
  /** The Python interpreter selected in VS Code; undefined if none is, or if the workspace is not trusted. */
  readonly interpreter: string | undefined;
  /** The program `adacoder` on the `PATH`. */
  readonly onPath: string | undefined;
  /** The Python of the private environment. */
  readonly own: string | undefined;
}

/** A program and its arguments. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Python's option that keeps the working directory, which is the user's project, off `sys.path`: a file
 * `adacoder.py` in a project must not be taken for the server. Python knows it since 3.11, which is AdaCoder's floor.
 */
const SAFE_PATH = "-P";
/** Nothing but what is installed in the private environment. */
const ISOLATED = "-I";
const IS_INSTALLED = "import importlib.util, sys; sys.exit(importlib.util.find_spec('adacoder') is None)";
const PROBE_TIMEOUT_MS = 10_000;

/**
 * The server to start: the setting's, else the interpreter's environment's, else the one on the `PATH`, else the private
 * one; undefined if there is none.
 */
export async function chooseLaunch(
  { path, interpreter, onPath, own }: Sources,
  isInstalledFor: (interpreter: string) => Promise<boolean> = hasAdaCoder,
): Promise<Launch | undefined> {
  if (path !== "") {
    return { command: path.replace(/^~(?=[\\/])/, homedir()), args: ["serve"] };
  }
  if (interpreter !== undefined && (await isInstalledFor(interpreter))) {
    return { command: interpreter, args: [SAFE_PATH, "-m", "adacoder", "serve"] };
  }
  if (onPath !== undefined) return { command: onPath, args: ["serve"] };
  return own === undefined ? undefined : { command: own, args: [ISOLATED, "-m", "adacoder", "serve"] };
}

/**
 * The absolute path of a program, which a path names or the `PATH` has; undefined if there is none.
 *
 * The working directory is the user's project. So what only it would decide is no program: not on Windows, where it is
 * searched before the `PATH`, nor elsewhere by a relative folder in the `PATH`.
 *
 * @param foreign - folders from which, or through which, no program is taken: those of a workspace that is not trusted
 */
export function locate(command: string, path: string, foreign: readonly string[]): string | undefined {
  if (isAbsolute(command)) return command;
  if (/[\\/]/.test(command)) return undefined;
  const name = process.platform === "win32" ? `${command}.exe` : command;
  const places = path.split(delimiter).filter(isAbsolute);
  return places.map((folder) => join(folder, name)).find((file) => isProgram(file) && !isBelow(file, foreign));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isBelow(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) =>
    [
      [folder, file],
      [realpathSync(folder), realpathSync(file)],
    ].some(([place = "", found = ""]) => {
      const way = relative(place, found);
      return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
    }),
  );
}

/**
 * The environment of the server: nothing in it makes Python read the project as if it were installed. Of a workspace
 * that is not trusted, no variable of Python's is passed on, since whoever set them may have meant the workspace.
 */
export function environment(own: NodeJS.ProcessEnv, trusted: boolean): NodeJS.ProcessEnv {
  const { PYTHONPATH: modules = "", ...rest } = own;
  const kept = Object.entries(rest).filter(([name]) => trusted || !name.startsWith("PYTHON"));
  const places = trusted ? modules.split(delimiter).filter(isAbsolute) : [];
  return { ...Object.fromEntries(kept), ...(places.length > 0 && { PYTHONPATH: places.join(delimiter) }) };
}

/**
 * The environment of the server with the interpreter activated that is selected in VS Code, as a terminal there would
 * have it: so it is the project's, unless the project has a `.venv`, and whatever VS Code itself was started in.
 */
export function activated(own: NodeJS.ProcessEnv, interpreter: string | undefined): NodeJS.ProcessEnv {
  if (interpreter === undefined || process.platform === "win32") return own;
  const folder = dirname(interpreter);
  const prefix = dirname(folder);
  const others = Object.entries(own).filter(([name]) => name !== "VIRTUAL_ENV" && name !== "CONDA_PREFIX");
  return {
    ...Object.fromEntries(others),
    PATH: [folder, ...(own["PATH"] === undefined ? [] : [own["PATH"]])].join(delimiter),
    ...(existsSync(join(prefix, "pyvenv.cfg")) && { VIRTUAL_ENV: prefix }),
  };
}

/** Whether AdaCoder is installed for a Python interpreter; false too if it is no Python that AdaCoder runs on. */
export function hasAdaCoder(interpreter: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { timeout: PROBE_TIMEOUT_MS, env: environment(process.env, true) };
    execFile(interpreter, [SAFE_PATH, "-c", IS_INSTALLED], options, (error) => {
      resolve(error === null);
    });
  });
}

/** One sentence for a user whose server did not start, with what to do. */
export function whyNotStarted({ path }: Sources, error: unknown): string {
  const cannotRun = /\b(?:ENOENT|EACCES)\b/.test(String(error));
  if (cannotRun && path !== "") return `${path} cannot be run: correct or clear the setting adacoder.path.`;
  return "AdaCoder's server stopped while it was starting: its log says why.";
}
