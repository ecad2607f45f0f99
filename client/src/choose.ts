/** The choice of a model or a strategy, and the doctor's document. */

import {
  ConfigurationTarget,
  EventEmitter,
  QuickPickItemKind,
  Uri,
  commands,
  l10n,
  window,
  workspace,
  type QuickPickItem,
  type TextDocumentContentProvider,
} from "vscode";

import {
  modelChoices,
  placeOf,
  strategyChoices,
  type Choice,
  type Models,
  type Strategies,
} from "./model-list";
import { ollamaButton } from "./ollama";
import { openSettings } from "./open-settings";
import { examine, execute, pythonInFront } from "./requests";
import type { Client } from "./server";
import { doctorDocument } from "./situation";

const TARGETS = {
  folder: ConfigurationTarget.WorkspaceFolder,
  workspace: ConfigurationTarget.Workspace,
  user: ConfigurationTarget.Global,
};

/** Lets the user choose a model, and sets it. Downloads the model first if necessary. */
export async function selectModel(client: Client): Promise<void> {
  const answer = (await execute(client, "adacoder.server.models")) as Models;
  if (answer.models.length === 0 && answer.recommended.length === 0) {
    await tellOfNoServer(answer.reason ?? l10n.t("The model server has no models."));
    return;
  }
  const choice = await pick(l10n.t("Select Model"), modelChoices(answer, current("model")));
  if (choice?.first === "ask") await askForModel();
  else if (choice !== undefined && (choice.first === null || (await pull(client, choice.label)))) await set("model", choice.value);
}

/** Lets the user name a model that is not listed. */
async function askForModel(): Promise<void> {
  const now = current("model");
  const name = await window.showInputBox({
    title: l10n.t("Other Model"),
    prompt: l10n.t("NAME or ollama:NAME for a model of Ollama, or openai:NAME for a model of the server in adacoder.openai.baseUrl. Empty: automatic."),
    value: typeof now === "string" ? now : "",
    placeHolder: "openai:qwen2.5-coder-32b",
  });
  if (name !== undefined) await set("model", name.trim() === "" ? null : name.trim());
}

/** Lets the server download a model and show the progress. After a failure, offers to try again. */
export async function pull(client: Client, model: string): Promise<boolean> {
  const asked = { model };
  for (;;) {
    const answer = (await execute(client, "adacoder.server.pull", asked)) as { pulled: boolean; reason: string | null };
    if (answer.pulled) {
      void commands.executeCommand("adacoder.refreshStatus");
      return true;
    }
    const [again, log] = [l10n.t("Try Again"), l10n.t("Show Log")];
    const chosen = await window.showWarningMessage(answer.reason ?? l10n.t("{0} was not downloaded.", model), again, log);
    if (chosen === log) await commands.executeCommand("adacoder.showLog");
    if (chosen !== again) return false;
  }
}

export async function selectStrategy(client: Client): Promise<void> {
  const answer = (await execute(client, "adacoder.server.strategies")) as Strategies;
  const choice = await pick(l10n.t("Select Strategy"), strategyChoices(answer, current("strategy")));
  if (choice !== undefined) await set("strategy", choice.value);
}

async function tellOfNoServer(message: string): Promise<void> {
  const [ollama, other, settings] = [ollamaButton(), l10n.t("Other Model…"), l10n.t("Open Settings")];
  const answer = await window.showWarningMessage(message, ...(ollama === undefined ? [] : [ollama.title]), other, settings);
  if (answer === ollama?.title) await ollama?.press();
  if (answer === other) await askForModel();
  if (answer === settings) await openSettings("@id:adacoder.ollama.host");
}

async function pick(title: string, choices: readonly Choice[]): Promise<Choice | undefined> {
  const items: (QuickPickItem & { choice?: Choice })[] = [];
  let group = "";
  for (const choice of choices) {
    if (choice.group !== group) items.push({ label: choice.group, kind: QuickPickItemKind.Separator });
    group = choice.group;
    const icon = choice.first === "download" ? "$(cloud-download)" : choice.chosen ? "$(check)" : "$(blank)";
    items.push({ label: `${icon} ${choice.label}`, description: choice.description, detail: choice.detail ?? "", choice });
  }
  return (await window.showQuickPick(items, { title: `AdaCoder: ${title}`, matchOnDescription: true }))?.choice;
}

function current(key: string): unknown {
  return workspace.getConfiguration("adacoder", window.activeTextEditor?.document.uri).get(key);
}

async function set(key: string, value: string | null): Promise<void> {
  const settings = workspace.getConfiguration("adacoder", window.activeTextEditor?.document.uri);
  await settings.update(key, value ?? undefined, TARGETS[placeOf(settings.inspect(key))]);
}

/** The doctor's findings, as a read-only document. */
export class DoctorDocument implements TextDocumentContentProvider {
  static readonly SCHEME = "adacoder-doctor";
  private static readonly URI = Uri.from({ scheme: DoctorDocument.SCHEME, path: `/${l10n.t("AdaCoder Doctor")}.md` });

  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private text = "";

  provideTextDocumentContent(): string {
    return this.text;
  }

  /** Lets the server examine this machine, and shows the findings. */
  async show(client: Client): Promise<void> {
    this.text = doctorDocument(await examine(client, pythonInFront(), true));
    this.changed.fire(DoctorDocument.URI);
    await commands.executeCommand("markdown.showPreview", DoctorDocument.URI);
  }
}
