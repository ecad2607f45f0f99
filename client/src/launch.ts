/**
 * Chooses the program that runs the AdaCoder server, and words the message if it does not start. Uses VS Code only to
 * translate texts.
 */

import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path";

import { l10n } from "vscode";

/** Places to look for a server. */
export interface Sources {
  /** Setting `adacoder.path`; empty if it is not set. */
  readonly path: string;
  /** The Python interpreter selected in VS Code; undefined without one, or if the workspace is not trusted. */
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

/** A server for a folder. */
export interface Program extends Launch {
  readonly env: NodeJS.ProcessEnv;
  /** Section `adacoder` of the folder's settings. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The two servers of AdaCoder: one for editors, one for agents. */
export type ServerKind = "serve" | "mcp";

/**
 * Python's option that keeps the working directory off `sys.path`. The working directory is the user's project, and its
 * file `adacoder.py` must not run as the server. Python has the option since 3.11.
 */
const SAFE_PATH = "-P";
/** Only packages installed in the private environment. */
const ISOLATED = "-I";
const IS_INSTALLED = "import importlib.util, sys; sys.exit(importlib.util.find_spec('adacoder') is None)";
const PROBE_TIMEOUT_MS = 10_000;

/**
 * The server to start: from the setting, else the interpreter's environment, else the `PATH`, else the private
 * environment; undefined if there is none.
 */
export async function chooseLaunch(
  { path, interpreter, onPath, own }: Sources,
  kind: ServerKind,
  isInstalledFor: (interpreter: string) => Promise<boolean> = hasAdaCoder,
): Promise<Launch | undefined> {
  if (path !== "") {
    return { command: path.replace(/^~(?=[\\/])/, homedir()), args: [kind] };
  }
  if (interpreter !== undefined && (await isInstalledFor(interpreter))) {
    return { command: interpreter, args: [SAFE_PATH, "-m", "adacoder", kind] };
  }
  if (onPath !== undefined) return { command: onPath, args: [kind] };
  return own === undefined ? undefined : { command: own, args: [ISOLATED, "-m", "adacoder", kind] };
}

/**
 * The absolute path of a program, from a path or the `PATH`; undefined if there is none.
 *
 * The working directory is the user's project, so it must not decide which program runs. Windows would search it
 * before the `PATH`, and a relative folder in the `PATH` depends on it.
 *
 * @param foreign - folders of an untrusted workspace; no program in them, or reached through them, is used
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

/** True if a file is in any of the folders, with or without resolved links. The file and the folders must exist. */
export function isBelow(file: string, folders: readonly string[]): boolean {
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
 * The environment of the server, without variables that make Python import from the project. In an untrusted workspace,
 * it has no variable of Python at all, because the workspace may have set them.
 */
export function environment(own: NodeJS.ProcessEnv, trusted: boolean): NodeJS.ProcessEnv {
  const { PYTHONPATH: modules = "", ...rest } = own;
  const kept = Object.entries(rest).filter(([name]) => trusted || !name.startsWith("PYTHON"));
  const places = trusted ? modules.split(delimiter).filter(isAbsolute) : [];
  return { ...Object.fromEntries(kept), ...(places.length > 0 && { PYTHONPATH: places.join(delimiter) }) };
}

/**
 * The environment of the server, in which the interpreter selected in VS Code is activated as in VS Code's terminal. So
 * the server uses this interpreter for the project, unless the project has a `.venv`.
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

/** True if AdaCoder is installed for a Python interpreter. False for a Python that AdaCoder does not support. */
export function hasAdaCoder(interpreter: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { timeout: PROBE_TIMEOUT_MS, env: environment(process.env, true) };
    execFile(interpreter, [SAFE_PATH, "-c", IS_INSTALLED], options, (error) => {
      resolve(error === null);
    });
  });
}

/** A sentence for the user: why the server did not start, and what to do. */
export function whyNotStarted({ path }: Sources, error: unknown): string {
  const cannotRun = /\b(?:ENOENT|EACCES)\b/.test(String(error));
  if (cannotRun && path !== "") return l10n.t("{0} cannot be run: correct or clear the setting adacoder.path.", path);
  return l10n.t("AdaCoder's server stopped while starting: see its log.");
}
