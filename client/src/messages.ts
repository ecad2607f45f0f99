/** One-sentence messages. */

import { commands, l10n, window } from "vscode";

import { ONE_LINE } from "./ending";

/** Shows a message. A message that VS Code would cut gets a button, which makes room for all of it. */
export async function tell(message: string, { isGood }: { isGood: boolean }): Promise<void> {
  const log = l10n.t("Show Log");
  const buttons = message.length > ONE_LINE ? [log] : [];
  const answer = isGood
    ? await window.showInformationMessage(message, ...buttons)
    : await window.showWarningMessage(message, ...buttons);
  if (answer === log) await commands.executeCommand("adacoder.showLog");
}
