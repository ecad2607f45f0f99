import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import {
  Failure,
  candidates,
  madeOf,
  make,
  newestPython,
  tidy,
  wheelIn,
  whyNotMade,
  type Parts,
} from "../src/private-server";

const posix = test.skipIf(process.platform === "win32");

function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "adacoder-")));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(made, { recursive: true });
  });
  return made;
}

/** A program that is a shell script. */
function program(place: string, name: string, script: string): string {
  mkdirSync(place, { recursive: true });
  const file = join(place, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A fake Python that only reports its version. */
function python(place: string, name: string, version: string): string {
  const file = join(place, name);
  return program(place, name, `echo '["${file}", ${version.split(".").join(", ")}]'`);
}

/** Writes a fake Python for an environment, which logs its arguments. */
const OWN = (log: string, act = "true"): string =>
  `mkdir -p "$FOLDER/bin"; printf '#!/bin/sh\\necho own "$@" >> "${log}"\\n${act}\\n' > "$FOLDER/bin/python"; chmod +x "$FOLDER/bin/python"`;

/** Storage, wheel and fake programs that make an environment. Its Python runs `act` and is logged. */
function parts(act = "true"): Parts & { log: string; fakes: { uv: string } } {
  const place = folder();
  const log = join(place, "log");
  const wheel = join(place, "adacoder-9.9.9-py3-none-any.whl");
  writeFileSync(wheel, "one");
  const last = `for FOLDER in "$@"; do :; done`;
  const maker = program(place, "maker", `echo python "$@" >> "${log}"\n${last}\n${OWN(log, act)}`);
  const uv = program(
    place,
    "uv",
    `echo uv "$@" >> "${log}"\nif [ "$1" = venv ]; then ${last}; ${OWN(log, act)}; elif ! [ -e "$4" ]; then exit 1; fi`,
  );
  return { storage: join(place, "a storage"), wheel, python: maker, uv: undefined, log, fakes: { uv } };
}

const never = (): AbortSignal => new AbortController().signal;
const quiet = (): void => undefined;

posix("the newest supported Python is taken", async () => {
  const place = folder();
  const old = python(place, "python3", "3.10.12");
  const twelve = python(place, "python3.12", "3.12.1");
  const eleven = python(place, "python3.11", "3.11.9");
  expect(await newestPython([old, eleven, twelve])).toEqual({ path: twelve, version: [3, 12, 1] });
  expect(await newestPython([twelve, python(place, "other", "3.12.10")])).toMatchObject({ version: [3, 12, 10] });
  expect(await newestPython([old])).toBeUndefined();
  expect(await newestPython([])).toBeUndefined();
});

posix("a program that fails, is not Python or is a pre-release is ignored", async () => {
  const place = folder();
  const good = python(place, "python3", "3.11.0");
  const others = [
    program(place, "store", "echo 'Python was not found'; exit 9"),
    program(place, "talks", "echo hello"),
    program(place, "alpha", "echo '[]'"),
    join(place, "gone"),
  ];
  expect(await newestPython(others)).toBeUndefined();
  expect(await newestPython([...others, good])).toEqual({ path: good, version: [3, 11, 0] });
});

posix("the selected interpreter and the PATH are searched, but never an untrusted workspace", () => {
  const place = folder();
  const [bin, project] = [join(place, "bin"), join(place, "project")];
  const one = python(bin, "python3.12", "3.12.0");
  python(project, "python3.13", "3.13.0");
  const path = [project, bin].join(delimiter);
  expect(candidates("/venv/bin/python", path, [project])).toEqual(["/venv/bin/python", one]);
  expect(candidates(undefined, path, [])).toEqual([join(project, "python3.13"), one]);
});

test("the wheel is the packaged one, if any", () => {
  const place = folder();
  expect(wheelIn(join(place, "gone"))).toBeUndefined();
  expect(wheelIn(place)).toBeUndefined();
  writeFileSync(join(place, "adacoder-1-py3-none-any.whl"), "");
  expect(wheelIn(place)).toBe(join(place, "adacoder-1-py3-none-any.whl"));
});

posix("an environment is made with venv and pip, tried, and there afterwards", async () => {
  const { log, ...made } = parts();
  expect(madeOf(made.wheel, made.storage)).toBeUndefined();
  const own = await make(made, quiet, never());
  expect(madeOf(made.wheel, made.storage)).toBe(own);
  const [venv, install, tried] = readFileSync(log, "utf8").split("\n");
  expect(venv).toMatch(/^python -I -m venv .*making-/);
  expect(install).toMatch(/^own -I -m pip install --no-input .* adacoder @ file:.*adacoder-9\.9\.9/);
  expect(tried).toBe("own -I -m adacoder --version");
  expect(readdirSync(made.storage)).toHaveLength(1);
});

posix("with uv it is made by uv, which fetches no Python", async () => {
  const { log, fakes, ...made } = parts();
  await make({ ...made, ...fakes }, quiet, never());
  const [venv, install] = readFileSync(log, "utf8").split("\n");
  expect(venv).toContain(`uv venv --no-project --no-python-downloads --python ${made.python}`);
  expect(install).toMatch(/^uv pip install --python .*making-.*python adacoder @ file:/);
});

posix("a half-made environment is removed and never used", async () => {
  const made = parts('case "$*" in *pip*) echo "dns error"; exit 1;; esac');
  const lines: string[] = [];
  await expect(make(made, (line) => lines.push(line), never())).rejects.toThrow(Failure);
  expect(lines).toContain("dns error");
  expect(madeOf(made.wheel, made.storage)).toBeUndefined();
  expect(readdirSync(made.storage)).toEqual([]);
});

posix("an environment that does not start is not used", async () => {
  const made = parts('case "$*" in *--version*) exit 1;; esac');
  await expect(make(made, quiet, never())).rejects.toThrow(Failure);
  expect(madeOf(made.wheel, made.storage)).toBeUndefined();
});

posix("a program that cannot start is reported", async () => {
  const made = { ...parts(), python: "/no/such/python" };
  await expect(make(made, quiet, never())).rejects.toThrow(Failure);
});

posix("who cancels leaves nothing behind", async () => {
  const made = parts('case "$*" in *pip*) echo waiting; exec sleep 60;; esac');
  const aborting = new AbortController();
  const making = make(
    made,
    (line) => {
      if (line === "waiting") aborting.abort();
    },
    aborting.signal,
  );
  await expect(making).rejects.toThrow(/abort/i);
  expect(readdirSync(made.storage)).toEqual([]);
});

posix("another version of the extension makes another, and two windows that make it at once share it", async () => {
  const made = parts();
  const [one, two] = await Promise.all([make(made, quiet, never()), make(made, quiet, never())]);
  expect(one).toBe(two);
  expect(existsSync(one)).toBe(true);
  writeFileSync(made.wheel, "another");
  expect(madeOf(made.wheel, made.storage)).toBeUndefined();
  expect(await make(made, quiet, never())).not.toBe(one);
});

posix("an environment whose Python was removed is made again", async () => {
  const made = parts();
  const own = await make(made, quiet, never());
  rmSync(own);
  expect(madeOf(made.wheel, made.storage)).toBeUndefined();
  expect(await make(made, quiet, never())).toBe(own);
  expect(madeOf(made.wheel, made.storage)).toBe(own);
});

posix("environments unused for long are removed, and used ones stay", async () => {
  const made = parts();
  const own = await make(made, quiet, never());
  const now = Date.now();
  const days = (count: number): number => now / 1000 - count * 24 * 3600;
  for (const [name, age] of [["server-old", 20], ["server-recent", 2], ["making-left", 20], ["sample", 99]] as const) {
    mkdirSync(join(made.storage, name));
    utimesSync(join(made.storage, name), days(age), days(age));
  }
  tidy(made.wheel, made.storage, now);
  expect(existsSync(own)).toBe(true);
  const left = readdirSync(made.storage).filter((name) => !own.includes(name));
  expect(left.sort()).toEqual(["sample", "server-recent"]);
});

posix("no variable of Python's, and no other environment, has a say", async () => {
  vi.stubEnv("PYTHONPATH", "/elsewhere");
  vi.stubEnv("VIRTUAL_ENV", "/other");
  vi.stubEnv("PIP_INDEX_URL", "https://index.example");
  const made = parts('echo "path=$PYTHONPATH env=$VIRTUAL_ENV index=$PIP_INDEX_URL"');
  const lines: string[] = [];
  await make(made, (line) => lines.push(line), never());
  expect(lines).toContain("path= env= index=https://index.example");
});

const PIP_OFFLINE =
  "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(Failed to establish a new connection: [Errno -3] Temporary failure in name resolution)'\nERROR: Could not find a version that satisfies the requirement pygls";

test.each([
  [PIP_OFFLINE, "Your package index does not answer"],
  ["error: Failed to fetch: `https://pypi.org/simple/pygls/`\n  Caused by: dns error", "Your package index does not answer"],
  ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "The disk is full"],
  ["The virtual environment was not created successfully because ensurepip is not available.", "python3-venv"],
  ["/usr/bin/python3: No module named venv", "python3-venv"],
  ["SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "certificate"],
  ["ERROR: HTTP error 403 Client Error: Forbidden for url", "denies access"],
  ["ERROR: No matching distribution found for jedi\nhint: ask\n", "No matching distribution found for jedi"],
  ["", "no output"],
])("one sentence explains why an environment could not be made", (printed, told) => {
  const message = whyNotMade(new Failure(printed), "/usr/bin/python3");
  expect(message).toContain(told);
  expect(message).not.toContain("\n");
});
