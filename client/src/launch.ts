/**
 * Which program is the AdaCoder server, and what to tell a user when it does not start.
 * Knows nothing of VS Code.
 */

import { execFile } from "node:child_process";
import { homedir } from "node:os";

/** Where a server may be found. */
export interface Sources {
  /** Setting `adacoder.path`; empty if it is not set. */
  readonly path: string;
  /** The Python interpreter selected in VS Code; undefined if none is, or if the workspace is not trusted. */
  readonly interpreter: string | undefined;
  readonly trusted: boolean;
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
const IS_INSTALLED = "import importlib.util, sys; sys.exit(importlib.util.find_spec('adacoder') is None)";
const PROBE_TIMEOUT_MS = 10_000;

/** The server to start: the setting's, else the interpreter's environment's, else the one on the `PATH`. */
export async function chooseLaunch(
  { path, interpreter }: Sources,
  isInstalledFor: (interpreter: string) => Promise<boolean> = hasAdaCoder,
): Promise<Launch> {
  if (path !== "") {
    return { command: path.replace(/^~(?=[\\/])/, homedir()), args: ["serve"] };
  }
  if (interpreter !== undefined && (await isInstalledFor(interpreter))) {
    return { command: interpreter, args: [SAFE_PATH, "-m", "adacoder", "serve"] };
  }
  return { command: "adacoder", args: ["serve"] };
}

/** Whether AdaCoder is installed for a Python interpreter; false too if it is no Python that AdaCoder runs on. */
export function hasAdaCoder(interpreter: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(interpreter, [SAFE_PATH, "-c", IS_INSTALLED], { timeout: PROBE_TIMEOUT_MS }, (error) => {
      resolve(error === null);
    });
  });
}

/** One sentence for a user whose server did not start, with what to do. */
export function whyNotStarted({ path, interpreter, trusted }: Sources, error: unknown): string {
  const cannotRun = /\b(?:ENOENT|EACCES)\b/.test(String(error));
  if (!cannotRun) {
    return "AdaCoder's server stopped while it was starting: its output says why.";
  }
  if (path !== "") {
    return `${path} cannot be run: correct or clear the setting adacoder.path.`;
  }
  if (!trusted) {
    return "AdaCoder is not on the PATH: trust this workspace, so that its interpreter is used, or set adacoder.path.";
  }
  if (interpreter === undefined) {
    return "AdaCoder is not installed: run `pip install .` in a checkout of it, or set adacoder.path.";
  }
  return `AdaCoder is not installed for ${interpreter}: run \`pip install .\` for it in a checkout of AdaCoder, or set adacoder.path.`;
}
