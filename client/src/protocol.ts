/** What AdaCoder's client and server say to each other beyond LSP. Knows nothing of VS Code. */

import type { Position, ProgressToken, TextDocumentIdentifier } from "vscode-languageclient/node";

/** The custom request: parameters {@link RunParams}, answer {@link RunResult}. */
export const RUN = "adacoder/run";

export type Mode = "generate" | "fix" | "check";

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
  readonly status: "verified" | "partial" | "unverified" | "failed" | "cancelled" | "error";
  /** Why it is not `verified`. */
  readonly reason: string | null;
  /** How it ended and the evidence, in one line. */
  readonly summary?: string;
  /** Why an edit that there was to make was not made. */
  readonly failureReason?: string | null;
}

/** One message for a person. */
export interface Message {
  readonly text: string;
  readonly isWarning: boolean;
}

/** What to show of a result: information if it is verified and nothing stood in the way of its edit, else a warning. */
export function toMessage({ status, reason, summary, failureReason }: RunResult): Message {
  const isGood = status === "verified" && (failureReason ?? null) === null;
  return { text: summary ?? reason ?? `AdaCoder: ${status}.`, isWarning: !isGood };
}

/**
 * Section `adacoder` as the server reads it: what somebody has set, by dotted names, and the workspace's trust.
 *
 * Defaults are left out, since what an editor says counts more than what the project's pyproject.toml says. So is
 * `path`, which is the client's own.
 *
 * @param isSet - whether somebody has set a key of the section, such as `ollama.host`
 */
export function toServerSettings(
  section: unknown,
  isSet: (key: string) => boolean,
  trusted: boolean,
): Record<string, unknown> {
  const set = flatten(section ?? {}).filter(([key]) => key !== "path" && isSet(key));
  return { ...Object.fromEntries(set), trusted };
}

function flatten(section: object, prefix = ""): [string, unknown][] {
  return Object.entries(section).flatMap(([key, value]: [string, unknown]): [string, unknown][] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? flatten(value, `${prefix}${key}.`)
      : [[prefix + key, value]],
  );
}
