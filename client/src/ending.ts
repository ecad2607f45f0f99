/** How a job ended, and which buttons to show with that. Knows nothing of VS Code. */

/** The notification by which the server tells it of jobs that a command started: {@link Ended}. */
export const ENDED = "adacoder/ended";

/** What a message names, or says to do. */
export type Remedy =
  | { readonly kind: "setting"; readonly key: string }
  | { readonly kind: "pull"; readonly model: string }
  | { readonly kind: "start" };

export interface Ended {
  /** null: it did not begin. */
  readonly jobId: string | null;
  readonly message: string;
  readonly isGood: boolean;
  /** Whether its result can still be inserted. */
  readonly kept: boolean;
  /** The text that it worked on. */
  readonly textDocument: { readonly uri: string; readonly version: number | null };
  readonly remedies: readonly Remedy[];
}

/** VS Code cuts a message that has no button after one line of about so many characters. */
export const ONE_LINE = 60;

export type Act = "difference" | "insert" | "discard" | "journal" | "start" | "pull" | "settings" | "log";

/** A button below a message; `subject` is what it acts on. */
export interface Button {
  readonly title: string;
  readonly act: Act;
  readonly subject: string;
}

/**
 * The buttons: what can be done with a result that is kept, and on a failure what the message says to do. VS Code cuts a
 * message without any, so a long one has at least one.
 *
 * @param isOpen - whether the difference is on the screen already, with buttons of its own
 * @param ollama - the title of the button for where Ollama is to be started; null if nothing here can start it
 */
export function buttons({ jobId, message, isGood, kept, remedies }: Ended, isOpen: boolean, ollama: string | null = "Start Ollama"): Button[] {
  const job = jobId ?? "";
  const found: Button[] = [];
  if (kept && !isOpen) found.push({ title: "Show Difference", act: "difference", subject: job });
  if (kept) {
    found.push({ title: "Insert", act: "insert", subject: job }, { title: "Discard", act: "discard", subject: job });
  }
  if (isGood && (found.length > 0 || message.length <= ONE_LINE)) return found;
  for (const remedy of remedies) {
    if (remedy.kind === "start" && ollama !== null) found.push({ title: ollama, act: "start", subject: "" });
    if (remedy.kind === "pull") found.push({ title: "Pull Model", act: "pull", subject: remedy.model });
  }
  const keys = remedies.flatMap((remedy) => (remedy.kind === "setting" ? [`@id:adacoder.${remedy.key}`] : []));
  if (keys.length > 0) found.push({ title: "Open Settings", act: "settings", subject: keys.join(" ") });
  if (job !== "") found.push({ title: "Show Journal", act: "journal", subject: job });
  else if (found.length === 0 && message.length > ONE_LINE) found.push({ title: "Show Log", act: "log", subject: "" });
  return found;
}
