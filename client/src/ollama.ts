/** Starts Ollama on this machine in a visible terminal, or opens its download page. */

import { Uri, commands, env, l10n, window, workspace } from "vscode";

import { locate } from "./launch";

const PAGE = "https://ollama.com/download";
const HERE = /^(?:https?:\/\/)?(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1?\]?|)(?::\d*)?\/?$/i;
const LOOKS = 20;
const PAUSE_MS = 500;

/** A button that leads to a running Ollama. */
export interface OllamaButton {
  readonly title: string;
  press(): Promise<void>;
}

/** The button for this machine. Undefined if the settings name another machine, or in an untrusted folder. */
export function ollamaButton(): OllamaButton | undefined {
  const host = workspace.getConfiguration("adacoder").get<string>("ollama.host") ?? "";
  if (!HERE.test(host === "" ? (process.env["OLLAMA_HOST"] ?? "") : host)) return undefined;
  const program = workspace.isTrusted ? locate("ollama", process.env["PATH"] ?? "", []) : undefined;
  return program === undefined
    ? { title: l10n.t("Install Ollama"), press: install }
    : { title: l10n.t("Start Ollama"), press: () => start(program, host) };
}

async function install(): Promise<void> {
  await env.openExternal(Uri.parse(PAGE));
}

/** Starts Ollama in a terminal, and waits until the status reports that Ollama answers. */
async function start(program: string, host: string): Promise<void> {
  const variables = host === "" ? {} : { OLLAMA_HOST: host };
  window.createTerminal({ name: "Ollama", shellPath: program, shellArgs: ["serve"], env: variables }).show();
  for (let look = 0; look < LOOKS; look++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if ((await commands.executeCommand("adacoder.refreshStatus")) === true) return;
  }
}
