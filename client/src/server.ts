/** Finds, starts, restarts and stops the AdaCoder server, of which a window has one for all its folders. */

import { EventEmitter, Uri, l10n, window, workspace, type LogOutputChannel } from "vscode";
import {
  CloseAction,
  LanguageClient,
  MessageType,
  ShowMessageNotification,
  State,
  type ErrorHandler,
  type LanguageClientOptions,
  type ResponseError,
} from "vscode-languageclient/node";

import { OwnCapabilities } from "./capabilities";
import { foreignFolders, type PrivateServer } from "./install";
import { kernelInterpreter, onInterpreterChange, selectedInterpreter } from "./interpreter";
import { activated, chooseLaunch, environment, locate, whyNotStarted, type Launch, type Program, type ServerKind, type Sources } from "./launch";
import { tell } from "./messages";
import { openSettings } from "./open-settings";
import { ProgressNotifications } from "./progress";
import { toServerSettings } from "./protocol";
import type { Condition } from "./situation";

const SECTION = "adacoder";
const NOT_INSTALLED = l10n.t("AdaCoder's server is not installed.");

/** The one server of a window. */
export class Server {
  /** The result of the last change. Each change waits for the previous one, so that there are never two servers. */
  private client: Promise<Client | undefined> = Promise.resolve(undefined);
  private interpreter: string | undefined;
  /** The running client. */
  current: Client | undefined;
  private readonly changed = new EventEmitter<Condition>();
  private readonly crashed = new EventEmitter<{ readonly isGivenUp: boolean }>();
  private readonly worked = new EventEmitter<Client>();

  /** The server's state, reported at each change. */
  condition: Condition = { kind: "idle" };
  readonly onDidChange = this.changed.event;
  /** The server crashed. It is restarted unless `isGivenUp`. */
  readonly onDidCrash = this.crashed.event;
  /** A job begins or ends. */
  readonly onDidWork = this.worked.event;

  constructor(
    private readonly output: LogOutputChannel,
    private readonly own: PrivateServer,
    private readonly storage?: string,
  ) {}

  /** Starts the server, unless it runs or the user has declined to install it. */
  async begin(): Promise<void> {
    await this.change(async (client) => client ?? (await this.start({ isWanted: false })));
  }

  /** The running client, started if necessary; undefined after a failed start, which a message has reported. */
  running(): Promise<Client | undefined> {
    return this.change(async (client) => {
      if (client?.needsStop() === true) return client;
      await this.end(client);
      return this.start({ isWanted: true });
    });
  }

  async restart(): Promise<void> {
    await this.change(async (client) => {
      await this.end(client);
      return this.start({ isWanted: true });
    });
  }

  /** Restarts the server for new start options. Does nothing before its first start. */
  async renew(): Promise<void> {
    if (this.condition.kind !== "idle") await this.restart();
  }

  async stop(): Promise<void> {
    await this.change((client) => this.end(client));
  }

  /**
   * The program of a server for a folder, found in the same way as the editor's server; undefined if it is not
   * installed.
   */
  async program(kind: ServerKind, folder: Uri): Promise<Program | undefined> {
    const sources = await this.sources(folder);
    const chosen = await chooseLaunch(sources, kind);
    try {
      const settings = serverSettings(workspace.getConfiguration(undefined, folder).get(SECTION), folder);
      return chosen && { ...located(chosen), env: environmentWith(sources.interpreter), settings };
    } catch (error) {
      throw new Error(whyNotStarted(sources, error), { cause: error });
    }
  }

  /** Restarts the server when another interpreter is selected. */
  watchInterpreter(): void {
    void onInterpreterChange(async () => {
      if (workspace.isTrusted && (await selectedInterpreter(scope(), this.output)) !== this.interpreter) {
        await this.renew();
      }
    }, this.output);
  }

  private change(step: (client: Client | undefined) => Promise<Client | undefined>): Promise<Client | undefined> {
    this.client = this.client.then(step);
    return this.client;
  }

  private async start({ isWanted }: { isWanted: boolean }): Promise<Client | undefined> {
    this.tellOf({ kind: "starting" });
    const sources = await this.sources(scope());
    this.interpreter = sources.interpreter;
    const chosen = await chooseLaunch(sources, "serve");
    if (chosen === undefined) {
      this.tellOf({ kind: "absent", why: NOT_INSTALLED });
      // Not awaited: the question may stay open for hours.
      void this.installed(sources.interpreter, isWanted);
      return undefined;
    }
    try {
      const launch = located(chosen);
      this.output.info(`Starting ${[launch.command, ...launch.args].join(" ")}`);
      const client = new Client(launch, sources.interpreter, this.output, this.storage);
      client.onDidChangeState(({ newState }) => {
        this.current = newState === State.Running ? client : undefined;
        if (newState === State.Running) this.tellOf({ kind: "running" });
      });
      client.onDidCrash((crash) => {
        this.tellOf(crash.isGivenUp ? { kind: "stopped", why: l10n.t("It crashed too often.") } : { kind: "starting" });
        this.crashed.fire(crash);
      });
      client.onDidWork(() => {
        this.worked.fire(client);
      });
      await client.start();
      if (launch.command === sources.own) this.own.used();
      return client;
    } catch (error) {
      const why = whyNotStarted(sources, error);
      this.tellOf({ kind: "stopped", why });
      void this.tell(why, sources.path !== "");
      return undefined;
    }
  }

  private async installed(interpreter: string | undefined, isWanted: boolean): Promise<void> {
    const isThere = await this.own.ensure(interpreter, isWanted);
    if (isThere && this.condition.kind === "absent") await this.restart();
  }

  private async end(client: Client | undefined): Promise<undefined> {
    try {
      if (client?.state === State.Starting) await client.start(); // after a crash; only a running client can be stopped
      await client?.dispose();
    } catch (error) {
      this.output.warn(`The server did not stop cleanly: ${String(error)}`);
    }
  }

  /**
   * Places to look for the server. In an untrusted workspace, the interpreter is none of them, because it may be the
   * workspace's own file.
   */
  private async sources(scope: Uri | undefined): Promise<Sources> {
    return {
      path: workspace.getConfiguration(SECTION, scope).get("path", ""),
      interpreter: workspace.isTrusted ? await selectedInterpreter(scope, this.output) : undefined,
      onPath: locate("adacoder", process.env["PATH"] ?? "", foreignFolders()),
      own: this.own.python,
    };
  }

  private tellOf(condition: Condition): void {
    this.condition = condition;
    this.changed.fire(condition);
  }

  private async tell(message: string, isPathSet: boolean): Promise<void> {
    const [settings, log] = [l10n.t("Open Settings"), l10n.t("Show Log")];
    const answer = await window.showErrorMessage(message, ...(isPathSet ? [settings, log] : [log]));
    if (answer === log) this.output.show();
    if (answer === settings) await openSettings("@id:adacoder.path");
  }
}

/** The file or folder whose selected interpreter is used. */
function scope(): Uri | undefined {
  return window.activeTextEditor?.document.uri ?? workspace.workspaceFolders?.[0]?.uri;
}

/** A launch with the program's absolute path. */
function located(launch: Launch): Launch {
  const command = locate(launch.command, process.env["PATH"] ?? "", foreignFolders());
  if (command === undefined) throw new Error(`ENOENT: ${launch.command} was not found`);
  return { ...launch, command };
}

function environmentWith(interpreter: string | undefined): NodeJS.ProcessEnv {
  return activated(environment(process.env, workspace.isTrusted), interpreter);
}

/** A client without the library's own error messages, because {@link Server} reports each failure once. */
export class Client extends LanguageClient {
  readonly progress = new ProgressNotifications(this);
  private readonly crashed = new EventEmitter<{ readonly isGivenUp: boolean }>();
  private readonly worked = new EventEmitter<void>();
  readonly onDidCrash = this.crashed.event;
  readonly onDidWork = this.worked.event;
  private hasRun = false;

  /** @param storage - the server's folder for data about this workspace */
  constructor(
    { command, args }: Launch,
    interpreter: string | undefined,
    output: LogOutputChannel,
    storage: string | undefined,
  ) {
    const options = { env: environmentWith(interpreter) };
    super(SECTION, "AdaCoder", { command, args: [...args], options }, optionsOf(output, storage));
    this.registerFeature(new OwnCapabilities());
    this.onNotification(ShowMessageNotification.type, ({ type, message }) => {
      this.info(message);
      void tell(message, { isGood: type > MessageType.Warning });
    });
    // Set after the client exists, because the notifications need the client.
    this.middleware.handleWorkDoneProgress = (token, value, next) => {
      if (value.kind !== "report") this.worked.fire();
      this.progress.handle(token, value, next);
    };
    this.onDidChangeState(({ newState }) => {
      if (newState !== State.Running) this.progress.closeAll();
    });
  }

  override async start(): Promise<void> {
    await super.start();
    this.hasRun = true;
  }

  override error(message: string, data?: unknown, notify?: boolean | "force"): void {
    super.error(message, data, this.hasRun ? notify : false);
  }

  override createDefaultErrorHandler(maxRestartCount?: number): ErrorHandler {
    const usual = super.createDefaultErrorHandler(maxRestartCount);
    return {
      error: (...details) => usual.error(...details),
      closed: async () => {
        if (!this.hasRun) return { action: CloseAction.DoNotRestart, handled: true };
        const { action } = await usual.closed();
        this.crashed.fire({ isGivenUp: action === CloseAction.DoNotRestart });
        return { action, handled: true };
      },
    };
  }
}

function optionsOf(outputChannel: LogOutputChannel, storage: string | undefined): LanguageClientOptions {
  return {
    documentSelector: [
      ...["python", "markdown", "restructuredtext"].map((language) => ({ scheme: "file", language })),
      { scheme: "untitled", language: "python" },
      { notebook: "*", language: "python" },
    ],
    outputChannel,
    initializationOptions: { trusted: workspace.isTrusted, ...(storage !== undefined && { storage }) },
    initializationFailedHandler: () => false,
    middleware: {
      workspace: {
        configuration: async (params, cancellation, next) => {
          const answers: unknown[] | ResponseError = await next(params, cancellation);
          if (!Array.isArray(answers)) return answers;
          const told = answers.map(async (answer, index) => {
            const item = params.items[index];
            if (item?.section !== SECTION) return answer;
            const scope = item.scopeUri === undefined ? undefined : Uri.parse(item.scopeUri);
            return { ...(await ofKernel(scope, outputChannel)), ...serverSettings(answer, scope) };
          });
          return Promise.all(told);
        },
      },
    },
  };
}

/** The setting that names the Python of a notebook's kernel. A setting of the user overrides it. */
async function ofKernel(scope: Uri | undefined, log: LogOutputChannel): Promise<Record<string, unknown>> {
  const isNotebook = workspace.notebookDocuments.some(({ uri }) => uri.toString() === scope?.toString());
  const interpreter = scope !== undefined && isNotebook && workspace.isTrusted ? await kernelInterpreter(scope, log) : undefined;
  return interpreter === undefined ? {} : { interpreter };
}

function serverSettings(section: unknown, scope: Uri | undefined): Record<string, unknown> {
  const configuration = workspace.getConfiguration(SECTION, scope);
  const isSet = (key: string): boolean => {
    const { globalValue, workspaceValue, workspaceFolderValue } = configuration.inspect(key) ?? {};
    return [globalValue, workspaceValue, workspaceFolderValue].some((value) => value !== undefined);
  };
  return toServerSettings(section, isSet, workspace.isTrusted);
}
