/** AdaCoder's entries in the status bar and the language status, their menu, and the jobs that a crash lost. */

import {
  LanguageStatusSeverity,
  StatusBarAlignment,
  ThemeColor,
  commands,
  l10n,
  languages,
  window,
  workspace,
  type TextDocument,
} from "vscode";

import { examine, execute, pythonInFront } from "./requests";
import type { Client, Server } from "./server";
import { afterCrash, again, menu, shown, type Entry, type Finding, type Job, type Situation } from "./situation";

const PYTHON = "python";
const NAME = "AdaCoder";
const MENU = "adacoder.menu";
const LOOK_MS = 1000;
const SEVERITIES = {
  information: LanguageStatusSeverity.Information,
  warning: LanguageStatusSeverity.Warning,
  error: LanguageStatusSeverity.Error,
};

/** Further menu entries while the server runs, such as kept results. */
export type MoreEntries = () => Promise<readonly Entry[]>;

/** The status of one server. */
export class Status {
  private readonly language = languages.createLanguageStatusItem("adacoder.status", { language: PYTHON });
  private readonly bar = window.createStatusBarItem("adacoder.status", StatusBarAlignment.Right, 90);
  private findings: readonly Finding[] = [];
  private examined = 0;
  /** The file that was examined. The findings describe its folder, because each folder has its own settings. */
  private about: TextDocument | undefined;
  private jobs: readonly Job[] = [];
  /** Jobs that a crash of the server ended, and that can be repeated. */
  private lost: readonly Job[] = [];
  private looking: NodeJS.Timeout | undefined;
  private readonly more: MoreEntries[] = [];
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly server: Server,
    private readonly showLog: () => void,
  ) {
    this.language.name = this.bar.name = NAME;
    this.language.command = { command: MENU, title: l10n.t("Menu"), tooltip: l10n.t("AdaCoder's status and commands") };
    this.bar.command = MENU;
    this.disposables = [
      this.language,
      this.bar,
      commands.registerCommand(MENU, () => this.open()),
      commands.registerCommand("adacoder.refreshStatus", async () => {
        await this.examine();
        return this.findings.length > 0 && this.findings.every(({ name, ok }) => name !== "Ollama" || ok !== false);
      }),
      server.onDidChange(({ kind }) => {
        if (kind === "running") void this.started();
        this.draw();
      }),
      server.onDidCrash(({ isGivenUp }) => void this.crashed(isGivenUp)),
      server.onDidWork((client) => void this.look(client)),
      window.onDidChangeActiveTextEditor(() => {
        this.draw();
        if (this.hasMoved()) void this.examine();
      }),
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("adacoder")) void this.examine();
      }),
    ];
    this.draw();
  }

  /** Adds entries to the menu. */
  contribute(entries: MoreEntries): void {
    this.more.push(entries);
  }

  dispose(): void {
    clearTimeout(this.looking);
    for (const each of this.disposables) each.dispose();
  }

  private get situation(): Situation {
    const { condition } = this.server;
    return { condition, findings: this.findings, jobs: this.jobs, platform: process.platform, hasFile: pythonInFront() !== undefined };
  }

  private draw(): void {
    const { text, details, severity, busy } = shown(this.situation);
    this.language.text = text;
    this.language.detail = details.join(" · ");
    this.language.busy = busy;
    this.language.severity = SEVERITIES[severity];
    this.bar.text = `${busy ? "$(loading~spin)" : "$(sparkle)"} ${text}`;
    this.bar.tooltip = [text, ...details].join("\n");
    this.bar.accessibilityInformation = { label: [text, ...details].join(". "), role: "button" };
    this.bar.backgroundColor = severity === "error" ? new ThemeColor("statusBarItem.errorBackground") : undefined;
    const language = window.activeTextEditor?.document.languageId;
    if (language === undefined || language === PYTHON || busy) this.bar.show();
    else this.bar.hide();
  }

  private async started(): Promise<void> {
    await this.examine();
    const lost = this.lost;
    this.lost = [];
    if (lost.length > 0) await this.offerAgain(lost);
  }

  /** True if a file of another folder has become active. */
  private hasMoved(): boolean {
    const before = this.about;
    this.about = pythonInFront() ?? before;
    return folderOf(this.about) !== folderOf(before);
  }

  /** Asks the server for its findings, without loading a model. */
  private async examine(): Promise<void> {
    const client = this.server.current;
    if (client === undefined) return;
    const number = ++this.examined;
    let findings: readonly Finding[] = [];
    this.about = pythonInFront() ?? this.about;
    try {
      findings = await examine(client, this.about, false);
    } catch {
      // The server is ending, or is too old for this request.
    }
    if (number !== this.examined) return; // a later request has replaced this one
    this.findings = findings;
    this.draw();
  }

  /** Asks for the running jobs, again and again while there are any. */
  private async look(client: Client): Promise<void> {
    clearTimeout(this.looking);
    const had = this.jobs.length > 0;
    try {
      this.jobs = ((await execute(client, "adacoder.server.status")) as { jobs: Job[] }).jobs;
    } catch {
      return; // the server is gone, and the crash handler reports its jobs
    }
    this.draw();
    if (this.jobs.length > 0) this.looking = setTimeout(() => void this.look(client), LOOK_MS);
    else if (had) void this.examine();
  }

  private async open(): Promise<void> {
    const others = this.server.condition.kind === "running" ? (await Promise.all(this.more.map((each) => each()))).flat() : [];
    const { text } = shown(this.situation);
    const chosen = await window.showQuickPick(menu(this.situation, others), { title: text });
    if (chosen !== undefined) await commands.executeCommand(chosen.command, ...(chosen.arguments ?? []));
  }

  private async crashed(isGivenUp: boolean): Promise<void> {
    clearTimeout(this.looking);
    this.lost = [...this.lost, ...this.jobs];
    this.jobs = [];
    this.draw();
    if (!isGivenUp) return; // lost jobs are reported once the server runs again
    const [restart, log] = [l10n.t("Restart Server"), l10n.t("Show Log")];
    const answer = await window.showErrorMessage(afterCrash(this.lost, true) ?? "", restart, log);
    if (answer === restart) await this.server.restart();
    if (answer === log) this.showLog();
  }

  private async offerAgain(lost: readonly Job[]): Promise<void> {
    const repeats = lost.map(again).filter((entry) => entry !== undefined);
    const [repeat, log] = [l10n.t("Run Again"), l10n.t("Show Log")];
    const buttons = repeats.length > 0 ? [repeat, log] : [log];
    const answer = await window.showWarningMessage(afterCrash(lost, false) ?? "", ...buttons);
    if (answer === log) this.showLog();
    if (answer !== repeat) return;
    for (const entry of repeats) await commands.executeCommand(entry.command, ...(entry.arguments ?? []));
  }
}

function folderOf(document: TextDocument | undefined): string | undefined {
  return document && workspace.getWorkspaceFolder(document.uri)?.uri.toString();
}
