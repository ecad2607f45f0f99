/** What AdaCoder's client and server say to each other beyond LSP. Knows nothing of VS Code. */

import type { Position, ProgressToken, TextDocumentIdentifier } from "vscode-languageclient/node";

import type { Ended, Remedy } from "./ending";

/** The custom request: parameters {@link RunParams}, answer {@link RunResult}. */
export const RUN = "adacoder/run";

export type Mode = "generate" | "fix" | "check" | "another" | "suggestExamples";

/** One request on the function at a position. */
export interface RunParams {
  readonly textDocument: TextDocumentIdentifier;
  readonly position: Position;
  readonly mode: Mode;
  /** Whether the server makes the edit, by `workspace/applyEdit`. */
  readonly apply: boolean;
  readonly workDoneToken: ProgressToken;
}

/** The part that is shown of the object `adacoder --json` prints. */
export interface RunResult {
  readonly status: "verified" | "partial" | "unverified" | "failed" | "denied" | "cancelled" | "error";
  /** Why it is not `verified`. */
  readonly reason: string | null;
  /** How it ended and the evidence, in one line. */
  readonly summary?: string;
  /** Why an edit that there was to make was not made. */
  readonly failureReason?: string | null;
  readonly jobId?: string | null;
  readonly applied?: boolean;
  /** Whether the result can still be inserted. */
  readonly kept?: boolean;
  /** Whether there is nothing to warn of. */
  readonly isGood?: boolean;
  /** What the summary names, or says to do. */
  readonly remedies?: readonly Remedy[];
  readonly examples?: { readonly passed: number; readonly total: number };
  /** The first thing that failed. */
  readonly failure?: {
    readonly example: string | null;
    readonly want: string | null;
    readonly got: string | null;
    readonly error: string | null;
  } | null;
}

/** How to tell of a result: it is good if it is verified and nothing stood in the way of its edit. */
export function toEnded(result: RunResult, textDocument: Ended["textDocument"]): Ended {
  const { status, reason, summary, failureReason, isGood, jobId, kept, remedies } = result;
  return {
    jobId: jobId ?? null,
    message: summary ?? reason ?? `AdaCoder: ${status}.`,
    isGood: isGood ?? (status === "verified" && (failureReason ?? null) === null),
    kept: kept === true,
    textDocument,
    remedies: remedies ?? [],
  };
}

/** Settings of the client's own, which the server does not know. */
const OWN = new Set(["path", "agentTools"]);

/**
 * Section `adacoder` as the server reads it: what somebody has set, by dotted names, and the workspace's trust.
 *
 * Defaults are left out, since what an editor says counts more than what the project's pyproject.toml says. So
 * are those that are the client's own.
 *
 * @param isSet - whether somebody has set a key of the section, such as `ollama.host`
 */
export function toServerSettings(
  section: unknown,
  isSet: (key: string) => boolean,
  trusted: boolean,
): Record<string, unknown> {
  const set = flatten(section ?? {}).filter(([key]) => !OWN.has(key) && isSet(key));
  return { ...Object.fromEntries(set), trusted };
}

function flatten(section: object, prefix = ""): [string, unknown][] {
  return Object.entries(section).flatMap(([key, value]: [string, unknown]): [string, unknown][] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? flatten(value, `${prefix}${key}.`)
      : [[prefix + key, value]],
  );
}
