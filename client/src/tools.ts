/** The tools of `adacoder mcp` for agents in the editor. They exist only if a setting enables them. */

import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import {
  LanguageModelTextPart,
  LanguageModelToolResult,
  Uri,
  lm,
  workspace,
  type CancellationToken,
  type Disposable,
  type LanguageModelTool,
  type LogOutputChannel,
  type WorkspaceFolder,
} from "vscode";

import { AgentProcess } from "./agent-process";
import { isBelow } from "./launch";
import type { Server } from "./server";
import { TOOLS, confirmationOf, severalFolders, textOf, unsaved, type Tool, type ToolInput } from "./tool-texts";

const SETTING = "adacoder.agentTools";

/** Registers the tools while the setting is on and the workspace is trusted. */
export function registerTools(server: Server, output: LogOutputChannel): { dispose(): unknown }[] {
  let registered: { dispose(): unknown }[] = [];
  const end = (): void => {
    for (const each of registered) each.dispose();
    registered = [];
  };
  const renew = (): void => {
    end();
    const isOn = workspace.isTrusted && workspace.getConfiguration().get<boolean>(SETTING) === true;
    // Editors based on an older VS Code have no tools.
    if (!isOn || !("registerTool" in lm)) return;
    const processes = new AgentProcesses(server, output);
    registered = [processes, ...TOOLS.map((tool): Disposable => lm.registerTool(`adacoder_${tool}`, new AgentTool(processes, tool)))];
  };
  renew();
  return [
    { dispose: end },
    workspace.onDidGrantWorkspaceTrust(renew),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTING)) renew();
    }),
  ];
}

/** The processes `adacoder mcp`, one for each workspace folder. They start with the first call. */
class AgentProcesses {
  private readonly started = new Map<string, { readonly key: string; readonly process: AgentProcess }>();
  private hasEnded = false;

  constructor(
    private readonly server: Server,
    private readonly output: LogOutputChannel,
  ) {}

  /** The process for a folder. Replaces a process that has crashed or has outdated settings. */
  async find({ uri }: WorkspaceFolder): Promise<AgentProcess> {
    const program = await this.server.program("mcp", uri);
    if (program === undefined) throw new Error("AdaCoder's server is not installed: ask the user to run 'AdaCoder: Install Server'.");
    if (this.hasEnded) throw new Error(`The user has switched off ${SETTING}.`);
    const key = JSON.stringify(program);
    const last = this.started.get(uri.fsPath);
    if (last?.key === key && !last.process.hasEnded) return last.process;
    last?.process.end();
    const process = new AgentProcess(program, uri.fsPath, (line) => {
      this.output.info(line);
    });
    this.started.set(uri.fsPath, { key, process });
    return process;
  }

  dispose(): void {
    this.hasEnded = true;
    for (const { process } of this.started.values()) process.end();
  }
}

class AgentTool implements LanguageModelTool<ToolInput> {
  constructor(
    private readonly processes: AgentProcesses,
    private readonly tool: Tool,
  ) {}

  prepareInvocation({ input }: { input: ToolInput }): ReturnType<NonNullable<LanguageModelTool<ToolInput>["prepareInvocation"]>> {
    const { title, message, doing } = confirmationOf(this.tool, input);
    return { invocationMessage: doing, confirmationMessages: { title, message } };
  }

  async invoke({ input }: { input: ToolInput }, cancellation: CancellationToken): Promise<LanguageModelToolResult> {
    const path = textOf(input.path);
    const [folder, ...others] = foldersOf(path);
    if (folder === undefined) throw new Error("No folder is open: ask the user to open one.");
    if (others.length > 0) return said(severalFolders([folder, ...others].map(({ uri }) => uri.fsPath)));
    if (hasUnsaved(folder, path)) return said(unsaved(path));
    const process = await this.processes.find(folder);
    return said(await process.call(this.tool, input, cancellation));
  }
}

/** The workspace folders that a path may belong to. */
function foldersOf(path: string): readonly WorkspaceFolder[] {
  const folders = workspace.workspaceFolders ?? [];
  const found = isAbsolute(path)
    ? [workspace.getWorkspaceFolder(Uri.file(path))].filter((folder) => folder !== undefined)
    : folders.filter(({ uri }) => existsSync(resolve(uri.fsPath, path)));
  return found.length > 0 ? found : folders.slice(0, 1);
}

/** True if a file at or below a path has unsaved changes; without a path, any Python file of the workspace. */
function hasUnsaved({ uri: folder }: WorkspaceFolder, path: string): boolean {
  const dirty = workspace.textDocuments.filter(({ isDirty, uri }) => isDirty && existsSync(uri.fsPath));
  if (path === "") {
    return dirty.some(({ languageId, uri }) => languageId === "python" && workspace.getWorkspaceFolder(uri) !== undefined);
  }
  const place = resolve(folder.fsPath, path);
  return existsSync(place) && dirty.some(({ uri }) => isBelow(uri.fsPath, [place]));
}

function said(result: unknown): LanguageModelToolResult {
  return new LanguageModelToolResult([new LanguageModelTextPart(JSON.stringify(result))]);
}
