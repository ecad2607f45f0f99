/** What a run of examples gave, as a test explorer tells it. Knows nothing of VS Code. */

/** The request; with a token its answer is empty, and its results come as {@link CheckAnswer}s of their own. */
export const CHECK = "adacoder/check";

export interface ExampleResult {
  readonly id: string;
  readonly state: "passed" | "failed" | "skipped" | "unknown";
  readonly got: string | null;
  readonly error: string | null;
  /** Why it failed and what to do, if the outputs do not say enough. */
  readonly hint?: string | null;
}

export interface Coverage {
  readonly reached: readonly number[];
  readonly unreached: readonly { readonly line: number }[];
  readonly branches: readonly { readonly line: number; readonly never: boolean }[];
}

/** What became of one docstring. */
export interface DocstringResult {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  /** The first thing that failed; what stops the module itself, such as a syntax error, is no example's. */
  readonly failure?: { readonly message: string } | null;
  /** undefined: an older server, of a docstring that is gone. */
  readonly coverage?: Coverage | null;
  readonly results: readonly ExampleResult[];
}

export interface CheckAnswer {
  readonly results: readonly DocstringResult[];
  readonly reason?: string | null;
}

/** A test that failed; `got` is set where it gave something, and that was not what the docstring says. */
export interface Failed {
  readonly id: string;
  readonly state: "failed" | "errored";
  readonly message: string;
  readonly got?: string;
}

/** What to tell of one test: of an example, or of a whole docstring that could not run. */
export type Told = { readonly id: string; readonly state: "passed" | "skipped" } | Failed;

const DIFFERS = "It gave something else than the docstring says.";

/**
 * What to tell of a docstring's tests. What isolation denies is an error of its own, no failure. What did not run, because another failed before it, counts as skipped; if none
 * failed, what kept it from running is its error.
 */
export function told({ id, status, reason, failure, results }: DocstringResult): Told[] {
  if (status === "error" || results.length === 0) {
    return [{ id, state: "errored", message: reason ?? "It could not run." }];
  }
  const obstacle = results.some(({ state }) => state === "failed") ? undefined : failure?.message;
  return results.map((each) => {
    if (each.state === "passed") return { id: each.id, state: "passed" };
    if (each.state !== "failed") {
      return obstacle === undefined ? { id: each.id, state: "skipped" } : { id: each.id, state: "errored", message: obstacle };
    }
    if (status === "denied") return { id: each.id, state: "errored", message: each.hint ?? each.error ?? failure?.message ?? DIFFERS };
    if (each.error !== null && each.error !== "") return { id: each.id, state: "failed", message: each.error };
    return { id: each.id, state: "failed", message: each.hint ?? DIFFERS, got: each.got ?? "" };
  });
}

/** A line of code: whether an example reached it, and of a test on it which outcomes came. */
export interface Line {
  /** From 1 on. */
  readonly line: number;
  readonly reached: boolean;
  readonly branches: readonly { readonly label: string; readonly reached: boolean }[];
}

/** The lines of a file that examples of any of its docstrings reached or did not reach. */
export function lines(results: readonly Coverage[]): Line[] {
  const reached = new Set(results.flatMap((each) => each.reached));
  const all = new Set([...reached, ...results.flatMap((each) => each.unreached.map(({ line }) => line))]);
  const nevers = results.flatMap((each) => each.branches);
  return [...all]
    .sort((one, other) => one - other)
    .map((line) => {
      const never = nevers.filter((each) => each.line === line).map((each) => each.never);
      const outcomes = never.length === 0 ? [] : [true, false];
      const branches = outcomes.map((outcome) => ({ label: String(outcome), reached: !never.includes(outcome) }));
      return { line, reached: reached.has(line), branches };
    });
}

/** The file that an id stands for. */
export function fileOf(id: string): string {
  return id.slice(0, id.lastIndexOf("#"));
}
