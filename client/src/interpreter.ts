/** The Python interpreter selected in VS Code, from any installed Python extension. None is required. */

import { extensions, type Event, type LogOutputChannel, type Uri } from "vscode";

/** The part that is used of the API of `ms-python.vscode-python-envs`. */
interface PythonEnvironmentsApi {
  getEnvironment(scope: Uri | undefined): Promise<{ execInfo: { run: { executable: string } } } | undefined>;
  readonly onDidChangeEnvironment: Event<unknown>;
}

/** The part that is used of the API of `ms-python.python`. */
interface PythonApi {
  readonly ready: Promise<void>;
  readonly environments: {
    getActiveEnvironmentPath(resource: Uri | undefined): unknown;
    readonly onDidChangeActiveEnvironmentPath: Event<unknown>;
    resolveEnvironment(path: unknown): Promise<{ executable: { uri: Uri | undefined } } | undefined>;
  };
}

/** The part that is used of the API of `ms-toolsai.jupyter`. */
interface JupyterApi {
  getPythonEnvironment(notebook: Uri): { readonly id: string; readonly path: string } | undefined;
}

const ENVIRONMENTS = "ms-python.vscode-python-envs";
const PYTHON = "ms-python.python";
const JUPYTER = "ms-toolsai.jupyter";

type Ask = (scope: Uri | undefined) => Promise<string | undefined>;

const ASK: readonly Ask[] = [
  async (scope) => {
    const api = await apiOf<PythonEnvironmentsApi>(ENVIRONMENTS);
    return (await api?.getEnvironment(scope))?.execInfo.run.executable;
  },
  async (scope) => {
    const api = await apiOf<PythonApi>(PYTHON);
    await api?.ready;
    const selected = api?.environments.getActiveEnvironmentPath(scope);
    return (await api?.environments.resolveEnvironment(selected))?.executable.uri?.fsPath;
  },
];

/** The path of the interpreter selected for a file or folder; undefined if no extension names one. */
export async function selectedInterpreter(scope: Uri | undefined, log: LogOutputChannel): Promise<string | undefined> {
  for (const ask of ASK) {
    try {
      const interpreter = await ask(scope);
      if (interpreter !== undefined) return interpreter;
    } catch (error) {
      log.warn(`A Python extension could not name its interpreter: ${String(error)}`);
    }
  }
  return undefined;
}

/** The path of the Python that runs a notebook's kernel; undefined if no extension names one. */
export async function kernelInterpreter(notebook: Uri, log: LogOutputChannel): Promise<string | undefined> {
  try {
    const selected = (await apiOf<JupyterApi>(JUPYTER))?.getPythonEnvironment(notebook);
    const api = selected && (await apiOf<PythonApi>(PYTHON));
    return (await api?.environments.resolveEnvironment(selected))?.executable.uri?.fsPath;
  } catch (error) {
    log.warn(`Jupyter could not name the Python of a kernel: ${String(error)}`);
    return undefined;
  }
}

/** Calls `listener` whenever a Python extension reports that another interpreter was selected. */
export async function onInterpreterChange(listener: () => unknown, log: LogOutputChannel): Promise<void> {
  const events = [
    async () => (await apiOf<PythonEnvironmentsApi>(ENVIRONMENTS))?.onDidChangeEnvironment,
    async () => (await apiOf<PythonApi>(PYTHON))?.environments.onDidChangeActiveEnvironmentPath,
  ];
  for (const event of events) {
    try {
      (await event())?.(listener);
    } catch (error) {
      log.warn(`A Python extension does not report changes of its interpreter: ${String(error)}`);
    }
  }
}

async function apiOf<Api>(extension: string): Promise<Api | undefined> {
  return extensions.getExtension<Api | undefined>(extension)?.activate();
}
