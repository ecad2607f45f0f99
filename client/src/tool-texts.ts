/** Confirmations of the tools for agents, and their answers to the chat's model. Independent of VS Code. */

import type { RunResult } from "./protocol";

export type Tool = "check" | "verify" | "generate";

export interface ToolInput {
  readonly file: string;
  readonly function: string;
  readonly candidate?: string;
}

const ASKS: Readonly<Record<Tool, (what: string) => string>> = {
  check: (what) => `Run the examples of ${what}?`,
  verify: (what) => `Run the examples of ${what} on the agent's text, and insert that text if all pass?`,
  generate: (what) => `Have AdaCoder's model write ${what}, and insert that if all examples pass?`,
};
const LEAVES =
  "The chat's model, which may be remote, then sees the verdict and the failing example or test with its expected and actual output.";

/** The question to the user before a tool runs. */
export function confirmationOf(tool: Tool, input: ToolInput): { title: string; message: string; doing: string } {
  const title = `AdaCoder: ${tool} '${input.function}'`;
  return { title, message: `${ASKS[tool](`'${input.function}' in ${input.file}`)} ${LEAVES}`, doing: title };
}

/** The answer to the chat's model: only the verdict and the failing example, nothing more of the project. */
export function answerOf({ status, examples, applied, kept, failure }: RunResult): string {
  const { passed, total } = examples ?? { passed: 0, total: 0 };
  const parts = [`Verdict: ${status}. ${String(passed)}/${String(total)} examples passed.`];
  if (applied === true) parts.push("The function was inserted.");
  else if (kept === true) parts.push("Nothing was inserted; the result is kept for the user to decide.");
  if (failure?.example !== undefined && failure.example !== null) {
    parts.push(`Failing example:\n${failure.example}`, `Expected:\n${failure.want ?? ""}`, `Got:\n${failure.got ?? failure.error ?? ""}`);
  }
  if (failure?.test !== undefined) parts.push(`Failing test: ${failure.test}`, failure.explanation ?? "");
  return parts.join("\n");
}
