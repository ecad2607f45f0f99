/**
 * The private environment of the server: made from the wheel that comes with the extension, in the extension's own
 * storage. Knows nothing of VS Code.
 */

import { execFile, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

import { environment, locate } from "./launch";

/** A Python interpreter that AdaCoder runs on. */
export interface Python {
  readonly path: string;
  /** Such as 3.12.1, as numbers. */
  readonly version: readonly number[];
}

/** What an environment is made of. */
export interface Parts {
  /** The extension's storage. */
  readonly storage: string;
  readonly wheel: string;
  readonly python: string;
  /** The program `uv`; undefined if there is none. */
  readonly uv: string | undefined;
}

/** A program that failed, with what it printed. */
export class Failure extends Error {
  constructor(readonly printed: string) {
    super(printed);
  }
}

const OLDEST = [3, 11];
const NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python", "py"];
/** Isolated, so that neither the working directory nor the user's variables and packages have a say. */
const ISOLATED = "-I";
const ABOUT =
  "import json, sys; print(json.dumps([sys.executable, *sys.version_info[:3]] * (sys.version_info[3] == 'final')))";
const PROBE_TIMEOUT_MS = 10_000;
const READY = "server-";
const MAKING = "making-";
const UNUSED_MS = 14 * 24 * 3600 * 1000;

/** The wheel that comes with the extension; undefined if it was not packaged. */
export function wheelIn(folder: string): string | undefined {
  const name = existsSync(folder) ? readdirSync(folder).find((entry) => entry.endsWith(".whl")) : undefined;
  return name === undefined ? undefined : join(folder, name);
}

/** The interpreter of the environment that was made of a wheel; undefined if there is none, or what it stands on is gone. */
export function madeOf(wheel: string, storage: string): string | undefined {
  const python = pythonOf(folderFor(wheel, storage));
  return existsSync(python) ? python : undefined;
}

/** Another wheel, of whatever version, has another folder. */
function folderFor(wheel: string, storage: string): string {
  const digest = createHash("sha256").update(readFileSync(wheel)).digest("hex").slice(0, 16);
  return join(storage, READY + digest);
}

function pythonOf(folder: string): string {
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

/** Programs that may be a Python: the selected interpreter, and those on the `PATH`. */
export function candidates(selected: string | undefined, path: string, foreign: readonly string[]): string[] {
  const found = NAMES.map((name) => locate(name, path, foreign));
  return [...new Set([selected, ...found].filter((program) => program !== undefined))];
}

/** The newest of some programs that is a Python which AdaCoder runs on. */
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
 * Makes the environment and returns its interpreter. It is made under another name and renamed at the end, so that one
 * which is only half made is never used.
 *
 * @param say - hears of each line that is printed
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

/** Renames an environment that is ready; if another window was quicker, that one's stays. */
function put(making: string, ready: string): void {
  if (existsSync(pythonOf(ready))) return;
  rmSync(ready, { recursive: true, force: true }); // what it stood on is gone
  try {
    renameSync(making, ready);
  } catch (error) {
    if (!existsSync(pythonOf(ready))) throw error;
  }
}

/** What makes an environment, and in the end tries it. */
function commands({ wheel, python, uv }: Parts, folder: string): [string, ...string[]][] {
  const own = pythonOf(folder);
  const server = `adacoder[openai] @ ${pathToFileURL(wheel).href}`;
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
 * Notes that an environment is used, and removes what nobody has used for two weeks: other windows may still run an
 * older one.
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
  [/No space left on device|ENOSPC/, () => "There is no room left on the disk for AdaCoder's environment."],
  [
    /ensurepip|No module named '?(?:venv|pip)\b/,
    (python) =>
      `${python} makes no environments: install what it lacks (Debian and Ubuntu: \`sudo apt install python3-venv\`), or uv.`,
  ],
  [
    /CERTIFICATE_VERIFY_FAILED|invalid peer certificate/,
    () => "The certificate of your package index is not trusted: name your own with SSL_CERT_FILE, and try again.",
  ],
  [
    /Failed to establish a new connection|NewConnectionError|ConnectTimeout|Connection refused|name resolution|dns error|error sending request|[Cc]onnection (?:error|aborted|reset)|ProxyError|Could not connect/,
    () =>
      "AdaCoder's dependencies could not be fetched, since your package index does not answer: go online, or name an index of your own in the configuration of pip (or uv), and try again.",
  ],
  [
    /\b(?:401|403)\b[^\n]*(?:Client Error|Unauthorized|Forbidden)|(?:Unauthorized|Forbidden)/,
    () => "Your package index denies access: give pip (or uv) what it asks for, and try again.",
  ],
];

/** One sentence for a user whose environment could not be made, with what to do. */
export function whyNotMade(error: unknown, python: string): string {
  const printed = error instanceof Failure ? error.printed : String(error);
  const reason = REASONS.find(([pattern]) => pattern.test(printed));
  if (reason !== undefined) return reason[1](python);
  const lines = printed.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !/^\s*(?:hint|note):/i.test(line));
  return `AdaCoder's environment could not be made: ${(lines.at(-1) ?? "nothing was told").trim()}`;
}
