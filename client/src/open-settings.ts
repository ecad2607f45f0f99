/** Opens AdaCoder's settings in the editor where they can be changed. */

import { commands, env } from "vscode";

/**
 * Opens the settings that a query such as `@id:adacoder.path` finds. In a remote window, opens the remote machine's
 * settings, because only these include machine settings.
 */
export async function openSettings(query: string): Promise<void> {
  if (env.remoteName === undefined) await commands.executeCommand("workbench.action.openSettings", query);
  else await commands.executeCommand("workbench.action.openRemoteSettings", { query });
}
