/** Results of examples as reports for a test explorer. Uses VS Code only to translate texts. */

import { l10n } from "vscode";

/**
 * The request to check examples. With a token, its answer is empty, and the results arrive as separate {@link
 * CheckAnswer}s.
 */
export const CHECK = "adacoder/check";

export interface ExampleResult {
  readonly id: string;
  readonly state: "passed" | "failed" | "skipped" | "unknown";
  readonly got: string | null;
  readonly error: string | null;
  /** The cause and remedy of a failure, if the outputs do not show enough. */
  readonly hint?: string | null;
}

export interface Coverage {
  readonly reached: readonly number[];
  readonly unreached: readonly { readonly line: number }[];
  readonly branches: readonly { readonly line: number; readonly never: boolean }[];
}

/** Result of one docstring. */
export interface DocstringResult {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  /** The first failure. An error of the module itself, such as a syntax error, belongs to no example. */
  readonly failure?: { readonly message: string } | null;
  /** undefined for an older server, or if the docstring was deleted. */
  readonly coverage?: Coverage | null;
  readonly results: readonly ExampleResult[];
}

export interface CheckAnswer {
  readonly results: readonly DocstringResult[];
  readonly reason?: string | null;
}

/** The request for the evidence of a file; its answer is {@link EvidenceAnswer}. */
export const EVIDENCE = "adacoder/evidence";
/** The notification that a job or a check on save has new evidence for a file. */
export const CHANGED = "adacoder/evidenceChanged";

export interface EvidenceAnswer {
  readonly items: readonly {
    readonly id: string;
    readonly isCurrent: boolean;
    readonly evidence: Omit<DocstringResult, "id" | "results">;
    readonly results: DocstringResult["results"];
  }[];
}

/**
 * A failed test. `got` is its output if this differs from the docstring; undefined if, for example, the test timed out.
 */
export interface Failed {
  readonly id: string;
  readonly state: "failed" | "errored";
  readonly message: string;
  readonly got?: string;
}

/** The report of one test: an example, or a whole docstring that could not run. */
export type Told = { readonly id: string; readonly state: "passed" | "skipped"; readonly got?: string } | Failed;

const DIFFERS = l10n.t("Its output differs from the docstring.");

/**
 * Reports of a docstring's tests. An example that isolation stopped is errored, not failed. Examples after a failure
 * are skipped. If none could run, each gets the reason as its error.
 */
export function told({ id, status, reason, failure, results }: DocstringResult): Told[] {
  if (status === "error" || results.length === 0) {
    return [{ id, state: "errored", message: reason ?? l10n.t("It could not run.") }];
  }
  const obstacle = results.some(({ state }) => state === "failed") ? undefined : failure?.message;
  return results.map((each) => {
    if (each.state === "passed") return { id: each.id, state: "passed", got: each.got ?? "" };
    if (each.state !== "failed") {
      return obstacle === undefined ? { id: each.id, state: "skipped" } : { id: each.id, state: "errored", message: obstacle };
    }
    if (status === "denied") return { id: each.id, state: "errored", message: each.hint ?? each.error ?? failure?.message ?? DIFFERS };
    if (each.error !== null && each.error !== "") return { id: each.id, state: "failed", message: each.error };
    const message = each.hint ?? DIFFERS;
    return each.got === null ? { id: each.id, state: "failed", message } : { id: each.id, state: "failed", message, got: each.got };
  });
}

/** A text for a terminal, with its control characters escaped. */
export function terminal(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, "\ufffd").replaceAll("\n", "\r\n");
}

/** A line of code: its coverage, and the outcomes of a test on it. */
export interface Line {
  /** 1-based. */
  readonly line: number;
  readonly reached: boolean;
  readonly branches: readonly { readonly label: string; readonly reached: boolean }[];
}

/** The lines of a file that examples of any of its docstrings reached or missed. */
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

/** The file that an id belongs to. */
export function fileOf(id: string): string {
  return id.slice(0, id.lastIndexOf("#"));
}
