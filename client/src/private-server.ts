/**
 * The server's private environment, made from the extension's wheel in the extension's own storage. Uses VS Code only
 * to translate texts.
 */

import { execFile, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

import { l10n } from "vscode";

import { environment, locate } from "./launch";

/** A supported Python interpreter. */
export interface Python {
  readonly path: string;
  /** As numbers, such as 3, 12, 1. */
  readonly version: readonly number[];
}

/** The parts of an environment. */
export interface Parts {
  /** The extension's storage. */
  readonly storage: string;
  readonly wheel: string;
  readonly python: string;
  /** The program `uv`; undefined if there is none. */
  readonly uv: string | undefined;
}

/** A failed program, with its output. */
export class Failure extends Error {
  constructor(readonly printed: string) {
    super(printed);
  }
}

const OLDEST = [3, 11];
const NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python", "py"];
/** Options of Python that ignore the working directory, and the user's variables and packages. */
const ISOLATED = "-I";
const ABOUT =
  "import json, sys; print(json.dumps([sys.executable, *sys.version_info[:3]] * (sys.version_info[3] == 'final')))";
const PROBE_TIMEOUT_MS = 10_000;
const READY = "server-";
const MAKING = "making-";
const UNUSED_MS = 14 * 24 * 3600 * 1000;

/** The extension's wheel; undefined if the extension was not packaged. */
export function wheelIn(folder: string): string | undefined {
  const name = existsSync(folder) ? readdirSync(folder).find((entry) => entry.endsWith(".whl")) : undefined;
  return name === undefined ? undefined : join(folder, name);
}

/** The interpreter of the environment for a wheel; undefined if there is none, or if its base Python was removed. */
export function madeOf(wheel: string, storage: string): string | undefined {
  const python = pythonOf(folderFor(wheel, storage));
  return existsSync(python) ? python : undefined;
}

/** The folder for a wheel. Wheels of the same version have different folders. */
function folderFor(wheel: string, storage: string): string {
  const digest = createHash("sha256").update(readFileSync(wheel)).digest("hex").slice(0, 16);
  return join(storage, READY + digest);
}

function pythonOf(folder: string): string {
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

/** Possible Python programs: the selected interpreter, and those on the `PATH`. */
export function candidates(selected: string | undefined, path: string, foreign: readonly string[]): string[] {
  const found = NAMES.map((name) => locate(name, path, foreign));
  return [...new Set([selected, ...found].filter((program) => program !== undefined))];
}

/** The newest supported Python among the given programs. */
export async function newestPython(programs: readonly string[]): Promise<Python | undefined> {
  const found = (await Promise.all(programs.map(about))).filter((python) => python !== undefined);
  return found
    .filter(({ version }) => compare(version, OLDEST) >= 0)
    .reduce<Python | undefined>(
      (best, each) => (best === undefined || compare(each.version, best.version) > 0 ? each : best),
      undefined,
    );
}

function compare(one: readonly number[], other: readonly number[]): number {
  const index = other.findIndex((part, at) => part !== one[at]);
  return index < 0 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}

function about(program: string): Promise<Python | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: PROBE_TIMEOUT_MS, cwd: homedir(), env: environment(process.env, false) };
    execFile(program, [ISOLATED, "-c", ABOUT], options, (error, stdout) => {
      resolve(error === null ? pythonFrom(stdout) : undefined);
    });
  });
}

function pythonFrom(printed: string): Python | undefined {
  try {
    const [path, ...version] = JSON.parse(printed) as [string?, ...number[]];
    return path === undefined || path === "" ? undefined : { path, version };
  } catch {
    return undefined;
  }
}

/**
 * Makes the environment and returns its interpreter. Its folder is renamed at the end, so that an incomplete
 * environment is never used.
 *
 * @param say - receives each printed line
 * @throws Failure - a program failed
 */
export async function make(parts: Parts, say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const { storage, wheel } = parts;
  const making = join(storage, MAKING + randomUUID());
  const ready = folderFor(wheel, storage);
  mkdirSync(storage, { recursive: true });
  try {
    for (const [program, ...args] of commands(parts, making)) await run(program, args, storage, say, signal);
    put(making, ready);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return pythonOf(ready);
}

/** Renames a finished environment. If another window was quicker, keeps the environment of that window. */
function put(making: string, ready: string): void {
  if (existsSync(pythonOf(ready))) return;
  rmSync(ready, { recursive: true, force: true }); // its base Python is gone
  try {
    renameSync(making, ready);
  } catch (error) {
    if (!existsSync(pythonOf(ready))) throw error;
  }
}

/** The commands that make an environment and finally try it. */
function commands({ wheel, python, uv }: Parts, folder: string): [string, ...string[]][] {
  const own = pythonOf(folder);
  const server = `adacoder @ ${pathToFileURL(wheel).href}`;
  const tried: [string, ...string[]] = [own, ISOLATED, "-m", "adacoder", "--version"];
  if (uv !== undefined) {
    return [
      [uv, "venv", "--no-project", "--no-python-downloads", "--python", python, folder],
      [uv, "pip", "install", "--python", own, server],
      tried,
    ];
  }
  const pip = ["-m", "pip", "install", "--no-input", "--no-user", "--disable-pip-version-check", "--retries", "2"];
  return [[python, ISOLATED, "-m", "venv", folder], [own, ISOLATED, ...pip, server], tried];
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { ...environment(process.env, false), VIRTUAL_ENV: undefined };
    const child = spawn(program, args, { cwd, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    const hear = (data: Buffer): void => {
      const text = data.toString();
      printed += text;
      for (const line of text.split(/[\r\n]+/).filter((each) => each.trim() !== "")) say(line);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", (error) => {
      reject(signal.aborted ? error : new Failure(`${printed}\n${String(error)}`));
    });
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Failure(printed));
    });
  });
}

/**
 * Stores the time of use of an environment, and removes environments that were not used for two weeks. Others stay,
 * because another window may still run an older version.
 */
export function tidy(wheel: string, storage: string, now = Date.now()): void {
  const used = basename(folderFor(wheel, storage));
  utimesSync(join(storage, used), now / 1000, now / 1000);
  for (const name of readdirSync(storage).filter((each) => each.startsWith(READY) || each.startsWith(MAKING))) {
    const folder = join(storage, name);
    if (name !== used && now - statSync(folder).mtimeMs > UNUSED_MS) rmSync(folder, { recursive: true, force: true });
  }
}

const REASONS: readonly [RegExp, (python: string) => string][] = [
  [/No space left on device|ENOSPC/, () => l10n.t("The disk is full: make room for AdaCoder's environment, and try again.")],
  [
    /ensurepip|No module named '?(?:venv|pip)\b/,
    (python) =>
      l10n.t("{0} cannot make environments: install its venv module (Debian and Ubuntu: `sudo apt install python3-venv`) or uv.", python),
  ],
  [
    /CERTIFICATE_VERIFY_FAILED|invalid peer certificate/,
    () => l10n.t("The certificate of your package index is not trusted: set SSL_CERT_FILE to your certificates, and try again."),
  ],
  [
    /Failed to establish a new connection|NewConnectionError|ConnectTimeout|Connection refused|name resolution|dns error|error sending request|[Cc]onnection (?:error|aborted|reset)|ProxyError|Could not connect/,
    () =>
      l10n.t("Your package index does not answer: go online, or configure another index for pip (or uv), and try again."),
  ],
  [
    /\b(?:401|403)\b[^\n]*(?:Client Error|Unauthorized|Forbidden)|(?:Unauthorized|Forbidden)/,
    () => l10n.t("Your package index denies access: configure your credentials for pip (or uv), and try again."),
  ],
];

/** A sentence for the user: why the environment could not be made, and what to do. */
export function whyNotMade(error: unknown, python: string): string {
  const printed = error instanceof Failure ? error.printed : String(error);
  const reason = REASONS.find(([pattern]) => pattern.test(printed));
  if (reason !== undefined) return reason[1](python);
  const lines = printed.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !/^\s*(?:hint|note):/i.test(line));
  return l10n.t("AdaCoder's environment could not be made: {0}", (lines.at(-1) ?? l10n.t("no output")).trim());
}
