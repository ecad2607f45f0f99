/** The Python of a notebook's kernel. */

import { beforeEach, expect, test, vi } from "vitest";
import type { LogOutputChannel } from "vscode";

import { kernelInterpreter } from "../src/interpreter";
import { Uri, apis } from "./fake/vscode";

const NOTEBOOK = Uri.file("/project/prices.ipynb") as unknown as Parameters<typeof kernelInterpreter>[0];
const SELECTED = { id: "/env", path: "/env" };
const warn = vi.fn();
const log = { warn } as unknown as LogOutputChannel;
const python = {
  environments: {
    resolveEnvironment: (path: unknown) => Promise.resolve(path === SELECTED ? { executable: { uri: { fsPath: "/env/bin/python" } } } : undefined),
  },
};

beforeEach(() => {
  vi.clearAllMocks();
  apis.clear();
});

test("Jupyter names the environment of a kernel, and the Python extension its Python", async () => {
  apis.set("ms-python.python", python).set("ms-toolsai.jupyter", { getPythonEnvironment: (uri: unknown) => (uri === NOTEBOOK ? SELECTED : undefined) });
  expect(await kernelInterpreter(NOTEBOOK, log)).toBe("/env/bin/python");
});

test.each([
  ["neither extension", {}],
  ["no Jupyter", { "ms-python.python": python }],
  ["no kernel yet", { "ms-python.python": python, "ms-toolsai.jupyter": { getPythonEnvironment: (): unknown => undefined } }],
  ["no Python extension", { "ms-toolsai.jupyter": { getPythonEnvironment: (): unknown => SELECTED } }],
])("with %s, there is no Python of a kernel", async (_, found) => {
  for (const [id, api] of Object.entries(found)) apis.set(id, api);
  expect(await kernelInterpreter(NOTEBOOK, log)).toBeUndefined();
  expect(warn).not.toHaveBeenCalled();
});

test("another form of Jupyter's interface is logged", async () => {
  apis.set("ms-toolsai.jupyter", {});
  expect(await kernelInterpreter(NOTEBOOK, log)).toBeUndefined();
  expect(warn).toHaveBeenCalledOnce();
});
