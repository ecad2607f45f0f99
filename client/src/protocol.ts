/** Messages between AdaCoder's client and server, beyond LSP. Independent of VS Code. */

import type { Position, ProgressToken, TextDocumentIdentifier } from "vscode-languageclient/node";

import type { Ended, Remedy } from "./ending";

/** The request to run a job: parameters {@link RunParams}, answer {@link RunResult}. */
export const RUN = "adacoder/run";

export type Mode = "generate" | "fix" | "check" | "another" | "suggestExamples";

/** One request on the function at a position. */
export interface RunParams {
  readonly textDocument: TextDocumentIdentifier;
  readonly position: Position;
  readonly mode: Mode;
  /** True if the server applies the edit with `workspace/applyEdit`. */
  readonly apply: boolean;
  /** The user's wish for the function; undefined to use the latest wish for this function. */
  readonly wish: string | undefined;
  readonly workDoneToken: ProgressToken;
}

/** The part that is shown of the object that `adacoder --json` prints. */
export interface RunResult {
  readonly status: "verified" | "partial" | "unverified" | "failed" | "denied" | "cancelled" | "error";
  /** The reason why the result is not `verified`. */
  readonly reason: string | null;
  /** The end of the job and its evidence, in one line. */
  readonly summary?: string;
  /** The reason why an edit was not made. */
  readonly failureReason?: string | null;
  readonly jobId?: string | null;
  readonly applied?: boolean;
  /** True if the result can still be inserted. */
  readonly kept?: boolean;
  /** True if there is nothing to warn about. */
  readonly isGood?: boolean;
  /** Remedies that the summary mentions. */
  readonly remedies?: readonly Remedy[];
}

/** The end of a job. It counts as good if the result is verified and nothing prevented its edit. */
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

/** The client's own settings, which the server does not know. */
const OWN = new Set(["path", "agentTools", "showWriting"]);

/**
 * Section `adacoder` for the server: the values that are set, by dotted names, and the workspace's trust.
 *
 * Defaults are left out, because an editor's values override the project's pyproject.toml. The client's own settings
 * are left out as well.
 *
 * @param isSet - whether a key of the section is set, such as `ollama.host`
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
