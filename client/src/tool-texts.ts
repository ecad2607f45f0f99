/**
 * Texts of the tools for agents: the questions to the user, and the answers to the agent. The answers are English,
 * because a model reads them. Uses VS Code only to translate the questions.
 */

import { l10n } from "vscode";

/** An agent's input, which may violate the schema. */
export interface ToolInput {
  readonly path?: unknown;
  readonly name?: unknown;
  readonly base?: unknown;
}

type Ask = (what: string) => string;

const LONGEST = 120;
const VERDICT = l10n.t("the verdict and the failing examples with their expected and actual output");

/** For each tool, its name, the question to the user, and the data that the chat's model sees afterwards. */
const TOOL_TEXTS = {
  check_examples: [l10n.t("check examples"), (what) => l10n.t("Run the examples of {0}?", what), VERDICT],
  verify_candidate: [l10n.t("verify candidate"), (what) => l10n.t("Run the examples of {0} on the agent's version?", what), VERDICT],
  behaviour_diff: [
    l10n.t("behaviour diff"),
    (what) => l10n.t("Run two versions of {0}, and compare their outputs?", what),
    l10n.t("the calls whose outputs differ"),
  ],
  generate: [
    l10n.t("generate"),
    (what) => l10n.t("Have AdaCoder's model write {0}?", what),
    l10n.t("the code and {0}. If no model answers, it sees the docstring and the code around the function", VERDICT),
  ],
  insert_verified: [
    l10n.t("insert verified"),
    (what) => l10n.t("Run the examples of {0} on a new version, and write that into the file if all pass?", what),
    VERDICT,
  ],
} as const satisfies Record<string, readonly [label: string, ask: Ask, seen: string]>;

export type Tool = keyof typeof TOOL_TEXTS;

/** The tools of `adacoder mcp`. */
export const TOOLS = Object.keys(TOOL_TEXTS) as readonly Tool[];

/** The question to the user before a tool runs. */
export function confirmationOf(tool: Tool, input: ToolInput): { title: string; message: string; doing: string } {
  const [path, name, base] = [visible(input.path), visible(input.name), visible(input.base)];
  const [label, ask, seen] = TOOL_TEXTS[tool];
  const title = ["AdaCoder:", label, ...(name === "" ? [] : [`'${name}'`])].join(" ");
  const place = path === "" ? l10n.t("the workspace folder") : path;
  const part = name === "" ? place : l10n.t("'{0}' in {1}", name, place);
  const what = tool === "check_examples" && base !== "" ? l10n.t("what changed in {0} since {1}", part, base) : part;
  return { title, message: l10n.t("{0} The chat's model, which may be remote, then sees {1}.", ask(what), seen), doing: title };
}

/** A text of the input. Null and values of other types count as missing. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An agent's text, made safe to show to a person: short, on one line, and without invisible characters. */
function visible(value: unknown): string {
  const escaped = textOf(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  return escaped.length > LONGEST ? `${escaped.slice(0, LONGEST)}…` : escaped;
}

/** The answer to a path that several workspace folders may have. */
export function severalFolders(folders: readonly string[]): { verdict: string; next: string } {
  const named = folders.join(", ");
  return { verdict: "not_run", next: `The path may be in several folders, so nothing ran: call the tool again with an absolute path below one of ${named}.` };
}

/** The answer for a file with unsaved changes, which the tools cannot see. */
export function unsaved(path: string): { verdict: string; next: string } {
  const [what, save] = path === "" ? ["A Python file", "all files"] : [`'${path}'`, "it"];
  return { verdict: "not_run", next: `${what} has unsaved changes, so nothing ran: save ${save}, then call the tool again.` };
}
