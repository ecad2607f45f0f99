/** Contents of the status and its menu, from the server's reports. Uses VS Code only to translate texts. */

import { l10n } from "vscode";

/** A finding of the server's doctor. */
export interface Finding {
  readonly name: string;
  /** null: the finding is only information. */
  readonly ok: boolean | null;
  readonly text: string;
  readonly advice: string;
  /** The model of the finding, such as `ollama:NAME`. */
  readonly model: string | null;
}

/** A running job. */
export interface Job {
  readonly jobId: string;
  readonly uri: string;
  /** null: the job concerns the whole file. */
  readonly qualifiedName: string | null;
  readonly target: string;
  readonly mode: string;
  readonly message: string;
}

/** State of the server. */
export type Condition =
  | { readonly kind: "idle" | "starting" | "running" }
  | { readonly kind: "stopped" | "absent"; readonly why: string };

export interface Situation {
  readonly condition: Condition;
  /** Empty until the server has reported. */
  readonly findings: readonly Finding[];
  readonly jobs: readonly Job[];
  readonly platform: NodeJS.Platform;
  /** True if a Python file is in the active editor. */
  readonly hasFile: boolean;
}

/** The status as it is shown. */
export interface Shown {
  readonly text: string;
  /** Further lines, for the tooltip. */
  readonly details: readonly string[];
  readonly severity: "information" | "warning" | "error";
  readonly busy: boolean;
}

/** An entry of the status menu, with the command that it runs. */
export interface Entry {
  readonly label: string;
  readonly description?: string;
  readonly command: string;
  readonly arguments?: readonly unknown[];
}

export const NO_WINDOWS =
  l10n.t("AdaCoder cannot run examples on Windows itself, so it verifies nothing: reopen the folder in WSL. Models and journals work.");
const IDLE = l10n.t("The server starts with the first Python file that you open, or with the first command.");
const UNPROVEN_MAC = l10n.t("On macOS, AdaCoder's isolation is experimental and untested.");

const EXTENSION = "adacoder.adacoder";
const WALKTHROUGH = `${EXTENSION}#firstSteps`;

const DOING: Readonly<Record<string, (name: string) => string>> = {
  generate: (name) => l10n.t("generating '{0}'", name),
  fix: (name) => l10n.t("fixing '{0}'", name),
  repair: (name) => l10n.t("repairing '{0}'", name),
  check: (name) => l10n.t("checking '{0}'", name),
  another: (name) => l10n.t("writing another candidate for '{0}'", name),
  suggestExamples: (name) => l10n.t("suggesting examples for '{0}'", name),
  insert: (name) => l10n.t("inserting the result for '{0}'", name),
  generateAll: (name) => l10n.t("generating the stubs of '{0}'", name),
  fixTest: (name) => l10n.t("fixing what fails in '{0}'", name),
};

/** A job's activity, as part of a sentence. */
export function doing({ mode, qualifiedName, target }: Job): string {
  const name = qualifiedName ?? target;
  return DOING[mode]?.(name) ?? l10n.t("working on '{0}'", name);
}

/** The status to show. */
export function shown({ condition, findings, jobs, platform }: Situation): Shown {
  if (condition.kind === "idle") {
    return { text: "AdaCoder", details: [IDLE, ...aboutPlatform(platform)], severity: "information", busy: false };
  }
  if (condition.kind === "starting") {
    return { text: l10n.t("AdaCoder: starting"), details: [], severity: "information", busy: true };
  }
  if (condition.kind === "absent" || condition.kind === "stopped") {
    const text = condition.kind === "absent" ? l10n.t("AdaCoder: not installed") : l10n.t("AdaCoder: stopped");
    return { text, details: [condition.why], severity: "error", busy: false };
  }
  const missing = findings.filter(({ ok }) => ok === false);
  const details = [
    ...jobs.map((job) => `${capital(doing(job))}: ${job.message}`),
    l10n.t("Model: {0}", modelOf(findings) ?? l10n.t("none")),
    l10n.t("Isolation: {0}", isolationOf(findings) ?? l10n.t("unknown")),
    ...missing.map(({ name, text, advice }) => l10n.t("Missing: {0}: {1}. {2}", name, text, advice).trim()),
    ...aboutPlatform(platform),
  ];
  return {
    text: `AdaCoder: ${inBrief(jobs, missing, findings)}`,
    details: findings.length > 0 || jobs.length > 0 ? details : [],
    severity: missing.length > 0 || platform === "win32" ? "warning" : "information",
    busy: jobs.length > 0,
  };
}

function aboutPlatform(platform: NodeJS.Platform): string[] {
  return platform === "win32" ? [NO_WINDOWS] : platform === "darwin" ? [UNPROVEN_MAC] : [];
}

function inBrief(jobs: readonly Job[], missing: readonly Finding[], findings: readonly Finding[]): string {
  const [job, ...others] = jobs;
  if (job !== undefined) return others.length > 0 ? `${doing(job)} (+${String(others.length)})` : doing(job);
  const [lack] = missing;
  if (lack !== undefined) return lack.name === "Ollama" ? l10n.t("no model server") : l10n.t("{0} missing", lack.name.toLowerCase());
  return modelOf(findings) ?? l10n.t("ready");
}

/** The models to ask in order. Only the first is named. */
export function modelOf(findings: readonly Finding[]): string | undefined {
  const models = findings.filter(({ name, ok, model }) => name === "Model" && ok !== false && model !== null);
  const names = [...new Set(models.map(({ model }) => (model ?? "").replace(/^ollama:/, "")))];
  return names.length > 1 ? `${names[0] ?? ""} (+${String(names.length - 1)})` : names[0];
}

/** The level of isolation, such as `full`. */
function isolationOf(findings: readonly Finding[]): string | undefined {
  const found = findings.find(({ name }) => name === "Isolation");
  return found?.ok === false ? l10n.t("none, so nothing runs") : /^[\w-]+/.exec(found?.text ?? "")?.[0];
}

/** The entries of the status menu. */
export function menu({ condition, jobs, platform, hasFile }: Situation, others: readonly Entry[] = []): Entry[] {
  const cancel = jobs.map((job) => ({
    label: `$(circle-slash) ${l10n.t("Cancel {0}", doing(job))}`,
    description: job.message,
    command: "adacoder.server.cancel",
    arguments: [{ jobId: job.jobId }],
  }));
  const ask = [
    { label: `$(server) ${l10n.t("Select Model…")}`, command: "adacoder.selectModel" },
    { label: `$(list-tree) ${l10n.t("Select Strategy…")}`, command: "adacoder.selectStrategy" },
    { label: `$(pulse) ${l10n.t("Doctor")}`, description: l10n.t("what works here"), command: "adacoder.doctor" },
    { label: `$(notebook) ${l10n.t("Show Journal")}`, command: "adacoder.showJournal" },
  ];
  const onFile = [
    { label: `$(sparkle) ${l10n.t("Generate All Stubs in File")}`, command: "adacoder.generateAll" },
    { label: `$(beaker) ${l10n.t("Run Tests in File")}`, command: "testing.runCurrentFile" },
  ];
  return [
    ...(condition.kind === "absent"
      ? [{ label: `$(cloud-download) ${l10n.t("Install the Server…")}`, command: "adacoder.installServer" }]
      : []),
    ...(condition.kind === "running" ? [...cancel, ...others] : []),
    ...(hasFile && condition.kind !== "absent" ? onFile : []),
    ...(condition.kind === "running" || condition.kind === "idle" ? ask : []),
    ...(platform === "win32" ? [{ label: `$(remote) ${l10n.t("Reopen in WSL")}`, command: "adacoder.reopenInWsl" }] : []),
    { label: `$(gear) ${l10n.t("Settings")}`, command: "adacoder.openSettings" },
    { label: `$(mortar-board) ${l10n.t("Walkthrough")}`, command: "workbench.action.openWalkthrough", arguments: [WALKTHROUGH] },
    { label: `$(book) ${l10n.t("Documentation")}`, command: "extension.open", arguments: [EXTENSION] },
    { label: `$(output) ${l10n.t("Show Log")}`, command: "adacoder.showLog" },
    { label: `$(debug-restart) ${l10n.t("Restart Server")}`, command: "adacoder.restart" },
  ];
}

/** The server's command that repeats a job; undefined if no command can. */
export function again({ mode, uri, qualifiedName }: Job): Entry | undefined {
  // The result of an insertion is still offered above its function. The name of a test to fix is unknown here.
  if (mode === "insert" || mode === "fixTest") return undefined;
  return {
    label: l10n.t("Run Again"),
    command: `adacoder.server.${mode}`,
    arguments: [qualifiedName === null ? { uri } : { uri, qualifiedName }],
  };
}

/** The message after a crash of the server, if any. */
export function afterCrash(lost: readonly Job[], isGivenUp: boolean): string | undefined {
  if (lost.length === 0) return isGivenUp ? l10n.t("AdaCoder's server crashed for the fifth time. It stays down until you restart it.") : undefined;
  const work = lost.map(doing).reduce((one, other) => l10n.t("{0} and {1}", one, other));
  if (isGivenUp) return l10n.t("AdaCoder's server crashed for the fifth time while {0}. It stays down until you restart it.", work);
  return l10n.t("AdaCoder's server crashed while {0}. It has restarted.", work);
}

const MARKDOWN = /[\\`*_{}[\]<>#|~!&$]/g;

/** The doctor's findings, as a document. */
export function doctorDocument(findings: readonly Finding[]): string {
  const escaped = (text: string): string => text.replace(MARKDOWN, (character) => `\\${character}`);
  const mark = (ok: boolean | null): string => (ok === null ? "·" : ok ? "✓" : "✗");
  const lines = findings.map(({ name, ok, text, advice }) => {
    const about = `- ${mark(ok)} **${escaped(name)}**: ${escaped(text)}`;
    return advice === "" ? about : `${about}  \n  *${escaped(advice)}*`;
  });
  return [`# ${l10n.t("What works here")}`, ...lines].join("\n\n") + "\n";
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
