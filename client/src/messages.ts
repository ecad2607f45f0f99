/** One-sentence messages. */

import { commands, l10n, window } from "vscode";

import { ONE_LINE } from "./ending";

/** Shows a message. A long message gets a button, because VS Code cuts long messages without one. */
export async function tell(message: string, { isGood }: { isGood: boolean }): Promise<void> {
  const log = l10n.t("Show Log");
  const buttons = message.length > ONE_LINE ? [log] : [];
  const answer = isGood
    ? await window.showInformationMessage(message, ...buttons)
    : await window.showWarningMessage(message, ...buttons);
  if (answer === log) await commands.executeCommand("adacoder.showLog");
}
