/** Questions before the tools for agents run, and their answer to unsaved text. Independent of VS Code. */

export interface ToolInput {
  readonly path?: string;
  readonly name?: string;
  readonly base?: string;
}

type Ask = (what: string) => string;

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
export function confirmationOf(tool: Tool, { path = "", name = "", base = "" }: ToolInput): { title: string; message: string; doing: string } {
  const [ask, seen] = TOOL_TEXTS[tool];
  const title = ["AdaCoder:", tool.replace("_", " "), ...(name === "" ? [] : [`'${name}'`])].join(" ");
  const place = path === "" ? "the workspace folder" : path;
  const part = name === "" ? place : `'${name}' in ${place}`;
  const what = tool === "check_examples" && base !== "" ? `what changed in ${part} since ${base}` : part;
  return { title, message: `${ask(what)} The chat's model, which may be remote, then sees ${seen}.`, doing: title };
}

/** The result for a file with unsaved changes. The tools work on the files on disk. */
export function unsaved(path: string): { verdict: string; next: string } {
  const [what, save] = path === "" ? ["A Python file", "all files"] : [`'${path}'`, "it"];
  return { verdict: "not_run", next: `${what} has unsaved changes, so nothing ran: save ${save}, then call the tool again.` };
}
