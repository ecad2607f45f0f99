/** The end of a job, and the buttons of its message. Uses VS Code only to translate texts. */

import { l10n } from "vscode";

/** The server's notification that a job started by a command has ended: {@link Ended}. */
export const ENDED = "adacoder/ended";

/** A setting or step that a message mentions. */
export type Remedy =
  | { readonly kind: "setting"; readonly key: string }
  | { readonly kind: "pull"; readonly model: string }
  | { readonly kind: "start" | "trust" }
  | { readonly kind: "command"; readonly title: string; readonly command: string; readonly arguments: readonly object[] };

export interface Ended {
  /** null: the job did not begin. */
  readonly jobId: string | null;
  readonly message: string;
  readonly isGood: boolean;
  /** True if the job's result can still be inserted. */
  readonly kept: boolean;
  /** The text that the job worked on. */
  readonly textDocument: { readonly uri: string; readonly version: number | null };
  readonly remedies: readonly Remedy[];
}

/** Length of a message in characters. VS Code cuts a longer message if it has no button. */
export const ONE_LINE = 60;

export type Act = "difference" | "insert" | "discard" | "journal" | "start" | "trust" | "pull" | "command" | "settings" | "log";

/** A button below a message; `subject` is the object of its action. */
export interface Button {
  readonly title: string;
  readonly act: Act;
  readonly subject: string;
  /** The arguments of a command of the server. */
  readonly arguments?: readonly object[];
}

/**
 * The buttons of a message: actions on a kept result, and remedies for a failure. A long message has at least one,
 * because VS Code cuts long messages without buttons. The first button never inserts an unverified result, because a
 * hasty user presses it.
 *
 * @param isOpen - whether the difference is already on the screen, with its own buttons
 * @param ollama - the title of the button that starts Ollama; null if this machine cannot start it
 */
export function buttons({ jobId, message, isGood, kept, remedies }: Ended, isOpen: boolean, ollama: string | null = l10n.t("Start Ollama")): Button[] {
  const job = jobId ?? "";
  const found: Button[] = [];
  const journal: Button = { title: l10n.t("Show Journal"), act: "journal", subject: job };
  if (kept && !isOpen) found.push({ title: l10n.t("Show Difference"), act: "difference", subject: job });
  if (kept && isOpen && !isGood) found.push(journal);
  if (kept) {
    found.push({ title: l10n.t("Insert"), act: "insert", subject: job }, { title: l10n.t("Discard"), act: "discard", subject: job });
  }
  if (isGood && (found.length > 0 || message.length <= ONE_LINE)) return found;
  for (const remedy of remedies) {
    if (remedy.kind === "command") found.push({ title: remedy.title, act: "command", subject: remedy.command, arguments: remedy.arguments });
    if (remedy.kind === "trust") found.push({ title: l10n.t("Manage Trust"), act: "trust", subject: "" });
    if (remedy.kind === "start" && ollama !== null) found.push({ title: ollama, act: "start", subject: "" });
    if (remedy.kind === "pull") found.push({ title: l10n.t("Pull Model"), act: "pull", subject: remedy.model });
  }
  const keys = remedies.flatMap((remedy) => (remedy.kind === "setting" ? [`@id:adacoder.${remedy.key}`] : []));
  if (keys.length > 0) found.push({ title: l10n.t("Open Settings"), act: "settings", subject: keys.join(" ") });
  if (job !== "" && !found.includes(journal)) found.push(journal);
  else if (job === "" && found.length === 0 && message.length > ONE_LINE) found.push({ title: l10n.t("Show Log"), act: "log", subject: "" });
  return found;
}
