/** Installation of the server's private environment: the question, the progress, and the message on failure. */

import { ProgressLocation, l10n, window, workspace, type ExtensionContext, type LogOutputChannel } from "vscode";

import { locate } from "./launch";
import { openSettings } from "./open-settings";
import { candidates, madeOf, make, newestPython, tidy, wheelIn, whyNotMade, type Python } from "./private-server";
import { join } from "node:path";

/** The key of the user's stored answer. */
const ANSWER = "adacoder.privateServer";
const INSTALL = l10n.t("Install");
const NO_PYTHON = l10n.t("AdaCoder needs Python 3.11 or newer, and none was found: install one, or set adacoder.path.");

/** The private environment of one extension. */
export class PrivateServer {
  private readonly storage: string;
  private readonly wheel: string | undefined;
  private making: Promise<boolean> | undefined;

  constructor(
    private readonly context: ExtensionContext,
    private readonly output: LogOutputChannel,
  ) {
    this.storage = context.globalStorageUri.fsPath;
    this.wheel = wheelIn(join(context.extensionPath, "dist"));
  }

  /** The environment's interpreter, if it exists. */
  get python(): string | undefined {
    return this.wheel === undefined ? undefined : madeOf(this.wheel, this.storage);
  }

  /** Stores that the environment is used now. */
  used(): void {
    if (this.wheel !== undefined) tidy(this.wheel, this.storage);
  }

  /**
   * Makes the environment after asking once. Returns true if it exists. A user who declined is asked again only after
   * an own request (`isWanted`). A user who agreed is not asked again for a new version.
   */
  async ensure(selected: string | undefined, isWanted: boolean): Promise<boolean> {
    const answer = this.context.globalState.get<boolean>(ANSWER);
    if (answer === false && !isWanted) return false;
    if (this.wheel === undefined) {
      return this.tell(l10n.t("AdaCoder is not installed: run `pip install .` in a checkout of it, or set adacoder.path."));
    }
    const path = process.env["PATH"] ?? "";
    const uv = locate("uv", path, foreignFolders());
    const python = await newestPython(candidates(selected, path, foreignFolders()));
    if (python === undefined) return this.tell(NO_PYTHON);
    if (answer !== true && !(await this.permitted(python, uv))) return false;
    this.making ??= this.made(this.wheel, python, uv).finally(() => {
      this.making = undefined;
    });
    return this.making;
  }

  private async permitted({ path, version }: Python, uv: string | undefined): Promise<boolean> {
    const [not, other] = [l10n.t("Not Now"), l10n.t("Use Another…")];
    const message = l10n.t(
      "AdaCoder's server is not installed. Install it into a private environment, with Python {0} ({1})? Its dependencies come from the package index that {2} is configured for.",
      version.join("."),
      path,
      uv === undefined ? "pip" : "uv",
    );
    const answer = await window.showInformationMessage(message, INSTALL, other, not);
    if (answer === other) await openSettings("@id:adacoder.path");
    await this.context.globalState.update(ANSWER, answer === INSTALL);
    return answer === INSTALL;
  }

  private async made(wheel: string, python: Python, uv: string | undefined): Promise<boolean> {
    const options = { location: ProgressLocation.Notification, title: l10n.t("AdaCoder: installing its server"), cancellable: true };
    const aborting = new AbortController();
    try {
      await window.withProgress(options, async (progress, cancellation) => {
        cancellation.onCancellationRequested(() => {
          aborting.abort();
        });
        const say = (line: string): void => {
          this.output.info(line);
          progress.report({ message: line.trim().slice(0, 80) });
        };
        await make({ storage: this.storage, wheel, python: python.path, uv }, say, aborting.signal);
      });
      return true;
    } catch (error) {
      if (aborting.signal.aborted) return false;
      this.output.error(String(error));
      return this.failed(whyNotMade(error, python.path), wheel, python, uv);
    }
  }

  private async failed(message: string, wheel: string, python: Python, uv: string | undefined): Promise<boolean> {
    const [again, log] = [l10n.t("Try Again"), l10n.t("Show Log")];
    const answer = await window.showErrorMessage(message, again, log);
    if (answer === log) this.output.show();
    return answer === again && this.made(wheel, python, uv);
  }

  private async tell(message: string): Promise<boolean> {
    const settings = l10n.t("Open Settings");
    if ((await window.showErrorMessage(message, settings)) === settings) {
      await openSettings("@id:adacoder.path");
    }
    return false;
  }
}

/** Folders from which no program is started: the folders of an untrusted workspace. */
export function foreignFolders(): string[] {
  return workspace.isTrusted ? [] : (workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
}
