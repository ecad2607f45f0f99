/** The connection to the AdaCoder server: found, started, restarted, stopped. One for all folders of a window. */

import { Uri, window, workspace, type LogOutputChannel } from "vscode";
import {
  CloseAction,
  LanguageClient,
  State,
  type ErrorHandler,
  type LanguageClientOptions,
  type ResponseError,
} from "vscode-languageclient/node";

import { selectedInterpreter } from "./interpreter";
import { activated, chooseLaunch, environment, locate, whyNotStarted, type Launch, type Sources } from "./launch";
import { ProgressNotifications } from "./progress";
import { toServerSettings } from "./protocol";

const SECTION = "adacoder";

/** The one server of a window. */
export class Server {
  /** What became of the last change. Each waits for the one before it, so that there are never two servers. */
  private client: Promise<Client | undefined> = Promise.resolve(undefined);

  constructor(private readonly output: LogOutputChannel) {}

  /** The running client, started if need be; undefined if it cannot start, which the user has then been told. */
  running(): Promise<Client | undefined> {
    return this.change(async (client) => (client?.needsStop() === true ? client : this.start()));
  }

  async restart(): Promise<void> {
    await this.change(async (client) => {
      await this.end(client);
      return this.start();
    });
  }

  async stop(): Promise<void> {
    await this.change((client) => this.end(client));
  }

  private change(step: (client: Client | undefined) => Promise<Client | undefined>): Promise<Client | undefined> {
    this.client = this.client.then(step);
    return this.client;
  }

  private async start(): Promise<Client | undefined> {
    const sources = await this.sources();
    try {
      const launch = located(await chooseLaunch(sources), sources.trusted);
      this.output.info(`Starting ${[launch.command, ...launch.args].join(" ")}`);
      const client = new Client(launch, sources.interpreter, this.output);
      await client.start();
      return client;
    } catch (error) {
      void this.tell(whyNotStarted(sources, error));
      return undefined;
    }
  }

  private async end(client: Client | undefined): Promise<undefined> {
    try {
      await client?.dispose();
    } catch (error) {
      this.output.warn(`The server did not stop as it should: ${String(error)}`);
    }
  }

  /** In a workspace that is not trusted, its interpreter, which may be part of it, is not started. */
  private async sources(): Promise<Sources> {
    const scope = window.activeTextEditor?.document.uri ?? workspace.workspaceFolders?.[0]?.uri;
    return {
      path: workspace.getConfiguration(SECTION, scope).get("path", ""),
      interpreter: workspace.isTrusted ? await selectedInterpreter(scope, this.output) : undefined,
      trusted: workspace.isTrusted,
    };
  }

  private async tell(message: string): Promise<void> {
    const showOutput = "Show Output";
    if ((await window.showErrorMessage(message, showOutput)) === showOutput) this.output.show();
  }
}

/** A launch by the program's absolute path. */
function located(launch: Launch, trusted: boolean): Launch {
  const folders = trusted ? [] : (workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  const command = locate(launch.command, process.env["PATH"] ?? "", folders);
  if (command === undefined) throw new Error(`ENOENT: there is no program ${launch.command}`);
  return { ...launch, command };
}

/** A client whose failure to start is told by {@link Server}, once, and not by the library, several times. */
export class Client extends LanguageClient {
  readonly progress = new ProgressNotifications(this);
  private hasRun = false;

  constructor({ command, args }: Launch, interpreter: string | undefined, output: LogOutputChannel) {
    const options = { env: activated(environment(process.env, workspace.isTrusted), interpreter) };
    super(SECTION, "AdaCoder", { command, args: [...args], options }, optionsOf(output));
    // Only now: the notifications need the client, and the client is made from its options.
    this.middleware.handleWorkDoneProgress = this.progress.handle;
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
      closed: () => (this.hasRun ? usual.closed() : { action: CloseAction.DoNotRestart, handled: true }),
    };
  }
}

function optionsOf(outputChannel: LogOutputChannel): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: "file", language: "python" }],
    outputChannel,
    initializationOptions: { trusted: workspace.isTrusted },
    initializationFailedHandler: () => false,
    middleware: {
      workspace: {
        configuration: async (params, cancellation, next) => {
          const answers: unknown[] | ResponseError = await next(params, cancellation);
          if (!Array.isArray(answers)) return answers;
          return answers.map((answer, index) => {
            const item = params.items[index];
            return item?.section === SECTION ? serverSettings(answer, item.scopeUri) : answer;
          });
        },
      },
    },
  };
}

function serverSettings(section: unknown, scope: string | undefined): Record<string, unknown> {
  const configuration = workspace.getConfiguration(SECTION, scope === undefined ? undefined : Uri.parse(scope));
  const isSet = (key: string): boolean => {
    const { globalValue, workspaceValue, workspaceFolderValue } = configuration.inspect(key) ?? {};
    return [globalValue, workspaceValue, workspaceFolderValue].some((value) => value !== undefined);
  };
  return toServerSettings(section, isSet, workspace.isTrusted);
}
