/** Opens settings of AdaCoder where they can be changed. */

import { commands, env } from "vscode";

/**
 * Opens the settings that a query such as `@id:adacoder.path` finds. Those of the machine are not among the user's
 * settings in a remote window: there the remote machine's settings have them, and all others too.
 */
export async function openSettings(query: string): Promise<void> {
  if (env.remoteName === undefined) await commands.executeCommand("workbench.action.openSettings", query);
  else await commands.executeCommand("workbench.action.openRemoteSettings", { query });
}
