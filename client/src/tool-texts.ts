/** Questions before the tools for agents run, and their answer to unsaved text. Independent of VS Code. */

/** The input of an agent, which may not fit the schema. */
export interface ToolInput {
  readonly path?: unknown;
  readonly name?: unknown;
  readonly base?: unknown;
}

type Ask = (what: string) => string;

const LONGEST = 120;
const VERDICT = "the verdict and the failing examples with their expected and actual output";

/** The question for each tool, and the data that the chat's model then sees. */
const TOOL_TEXTS = {
  check_examples: [(what) => `Run the examples of ${what}?`, VERDICT],
  verify_candidate: [(what) => `Run the examples of ${what} on the agent's version?`, VERDICT],
  behaviour_diff: [(what) => `Run two versions of ${what}, and compare their outputs?`, "the calls whose outputs differ"],
  generate: [
    (what) => `Have AdaCoder's model write ${what}?`,
    `the code and ${VERDICT}. If no model answers, it sees the docstring and the code around the function`,
  ],
  insert_verified: [(what) => `Run the examples of ${what} on a new version, and write that into the file if all pass?`, VERDICT],
} as const satisfies Record<string, readonly [ask: Ask, seen: string]>;

export type Tool = keyof typeof TOOL_TEXTS;

/** The tools of `adacoder mcp`. */
export const TOOLS = Object.keys(TOOL_TEXTS) as readonly Tool[];

/** The question to the user before a tool runs. */
export function confirmationOf(tool: Tool, input: ToolInput): { title: string; message: string; doing: string } {
  const [path, name, base] = [visible(input.path), visible(input.name), visible(input.base)];
  const [ask, seen] = TOOL_TEXTS[tool];
  const title = ["AdaCoder:", tool.replace("_", " "), ...(name === "" ? [] : [`'${name}'`])].join(" ");
  const place = path === "" ? "the workspace folder" : path;
  const part = name === "" ? place : `'${name}' in ${place}`;
  const what = tool === "check_examples" && base !== "" ? `what changed in ${part} since ${base}` : part;
  return { title, message: `${ask(what)} The chat's model, which may be remote, then sees ${seen}.`, doing: title };
}

/** A text of the input. Null and values of other types count as missing. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An agent's text as a person may read it: short, on one line, and without invisible characters. */
function visible(value: unknown): string {
  const escaped = textOf(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  return escaped.length > LONGEST ? `${escaped.slice(0, LONGEST)}…` : escaped;
}

/** The result for a path that may be in several workspace folders. */
export function severalFolders(folders: readonly string[]): { verdict: string; next: string } {
  const named = folders.join(", ");
  return { verdict: "not_run", next: `The path may be in several folders, so nothing ran: call the tool again with an absolute path below one of ${named}.` };
}

/** The result for a file with unsaved changes. The tools work on the files on disk. */
export function unsaved(path: string): { verdict: string; next: string } {
  const [what, save] = path === "" ? ["A Python file", "all files"] : [`'${path}'`, "it"];
  return { verdict: "not_run", next: `${what} has unsaved changes, so nothing ran: save ${save}, then call the tool again.` };
}
