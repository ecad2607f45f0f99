/** Tools that let agents in the editor use AdaCoder's sandbox as a gate. They exist only if a setting enables them. */

import { isAbsolute } from "node:path";
import {
  LanguageModelTextPart,
  LanguageModelToolResult,
  Uri,
  lm,
  workspace,
  type CancellationToken,
  type Disposable,
  type LanguageModelTool,
} from "vscode";

import { RUN, type RunResult } from "./protocol";
import type { Server } from "./server";
import { answerOf, confirmationOf, type Tool, type ToolInput } from "./tool-texts";

const SETTING = "adacoder.agentTools";
const TOOLS: readonly Tool[] = ["check", "verify", "generate"];
const MODES = { check: "check", verify: "repair", generate: "generate" } as const;

/** Registers the tools while the setting is on. */
export function registerTools(server: Server): { dispose(): unknown }[] {
  let registered: Disposable[] = [];
  const end = (): void => {
    for (const each of registered) each.dispose();
    registered = [];
  };
  const renew = (): void => {
    end();
    const isOn = workspace.getConfiguration().get<boolean>(SETTING) === true;
    // Editors based on an older VS Code have no tools.
    if (!isOn || !("registerTool" in lm)) return;
    registered = TOOLS.map((tool) => lm.registerTool(`adacoder_${tool}`, new OnFunction(server, tool)));
  };
  renew();
  return [
    { dispose: end },
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTING)) renew();
    }),
  ];
}

/** A tool that runs a server request on one function. */
class OnFunction implements LanguageModelTool<ToolInput> {
  constructor(
    private readonly server: Server,
    private readonly tool: Tool,
  ) {}

  prepareInvocation({ input }: { input: ToolInput }): ReturnType<NonNullable<LanguageModelTool<ToolInput>["prepareInvocation"]>> {
    const { title, message, doing } = confirmationOf(this.tool, input);
    return { invocationMessage: doing, confirmationMessages: { title, message } };
  }

  async invoke({ input }: { input: ToolInput }, cancellation: CancellationToken): Promise<LanguageModelToolResult> {
    const client = await this.server.running();
    if (client === undefined) return said("AdaCoder's server is not running.");
    const file = fileOf(input.file);
    if (file === undefined) return said(`'${input.file}' is not a file of this workspace.`);
    const params = {
      textDocument: { uri: client.code2ProtocolConverter.asUri(file) },
      qualifiedName: input.function,
      mode: MODES[this.tool],
      apply: this.tool !== "check",
      ...(this.tool === "verify" && { candidate: input.candidate ?? "" }),
    };
    return said(answerOf(await client.sendRequest<RunResult>(RUN, params, cancellation)));
  }
}

/** A file of the workspace, by an absolute path or a path relative to a workspace folder. */
function fileOf(path: string): Uri | undefined {
  const folders = workspace.workspaceFolders ?? [];
  const candidates = isAbsolute(path) ? [Uri.file(path)] : folders.map(({ uri }) => Uri.joinPath(uri, path));
  const open = workspace.textDocuments.map(({ uri }) => uri.toString());
  const inside = candidates.filter((uri) => workspace.getWorkspaceFolder(uri) !== undefined);
  return inside.find((uri) => open.includes(uri.toString())) ?? inside.at(0);
}

function said(text: string): LanguageModelToolResult {
  return new LanguageModelToolResult([new LanguageModelTextPart(text)]);
}
