/** The start of the server, and the message if it fails. */

import { beforeEach, expect, test, vi } from "vitest";
import type { LogOutputChannel } from "vscode";

import type { PrivateServer } from "../src/install";
import { Server } from "../src/server";
import { Uri, commands, settings, window } from "./fake/vscode";

vi.mock("vscode-languageclient/node", async () => ({
  ...(await import("vscode-languageserver-protocol/node")),
  LanguageClient: vi.fn(),
  State: {},
  CloseAction: {},
}));

function stopped(): { readonly server: Server; readonly log: { readonly show: () => void; readonly info: () => void } } {
  const log = { show: vi.fn(), info: vi.fn(), warn: vi.fn() };
  const own = { python: undefined, used: vi.fn(), ensure: () => Promise.resolve(false) };
  return { server: new Server(log as unknown as LogOutputChannel, own as unknown as PrivateServer), log };
}

beforeEach(() => {
  vi.clearAllMocks();
  settings.clear();
  settings.set("path", "adacoder-that-is-nowhere");
});

test("a renewal before the first start does nothing", async () => {
  const { server } = stopped();
  await server.renew();
  expect(server.condition).toEqual({ kind: "idle" });
  await server.begin();
  expect(server.condition.kind).toBe("stopped");
  window.showErrorMessage.mockClear();
  await server.renew();
  expect(window.showErrorMessage).toHaveBeenCalledOnce();
});

test("the server for agents is the same program, with the settings that are set", async () => {
  const { server } = stopped();
  const folder = Uri.file("/project") as unknown as Parameters<Server["program"]>[1];
  await expect(server.program("mcp", folder)).rejects.toThrow("correct or clear the setting adacoder.path");
  settings.set("path", "/opt/adacoder");
  settings.set("isolation", "full");
  settings.set("adacoder", { path: "/opt/adacoder", isolation: "full", timeout: 10 });
  const program = await server.program("mcp", folder);
  expect(program).toMatchObject({ command: "/opt/adacoder", args: ["mcp"] });
  expect(program?.settings).toEqual({ isolation: "full", trusted: true });
});

test.each([
  ["Open Settings", 1, 0],
  ["Show Log", 0, 1],
])("where adacoder.path cannot be run, the button %s helps", async (title, opened, shown) => {
  window.showErrorMessage.mockResolvedValueOnce(title);
  const { server, log } = stopped();
  await server.begin();
  expect(window.showErrorMessage.mock.calls).toEqual([[expect.stringContaining("adacoder.path"), "Open Settings", "Show Log"]]);
  await vi.waitFor(() => {
    expect(commands.executeCommand.mock.calls).toHaveLength(opened);
  });
  expect(log.show).toHaveBeenCalledTimes(shown);
});
