import { expect, test } from "vitest";

import { TOOLS } from "../src/tool-texts";
import { manifestWith, read, sources } from "./texts";

interface Property {
  readonly type?: unknown;
  readonly order?: number;
  readonly scope?: string;
  readonly enum?: readonly string[];
  readonly markdownEnumDescriptions?: readonly string[];
  readonly markdownDescription?: string;
  readonly deprecationMessage?: string;
}

interface Manifest {
  readonly activationEvents: readonly string[];
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: {
    readonly submenus: readonly { readonly id: string }[];
    readonly keybindings: readonly { readonly command: string; readonly key: string; readonly when: string }[];
    readonly commands: readonly { readonly command: string; readonly title: string; readonly category?: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command?: string; readonly submenu?: string; readonly when?: string }[]>>;
    readonly languageModelTools: readonly Tool[];
    readonly configuration: readonly { readonly title: string; readonly order: number; readonly properties: Readonly<Record<string, Property>> }[];
  };
}

interface Tool {
  readonly name: string;
  readonly when: string;
  readonly toolReferenceName: string;
  readonly displayName: string;
  readonly modelDescription: string;
  readonly canBeReferencedInPrompt: boolean;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly description: string }>>;
  };
}

const manifest = manifestWith("package.nls.json") as Manifest;
const { commands, menus, submenus, languageModelTools, configuration } = manifest.contributes;
const settings = Object.fromEntries(configuration.flatMap(({ properties }) => Object.entries(properties)));
const source = sources.map(read).join("\n");

test("every setting has a type, a scope and a description, and describes each value", () => {
  for (const [name, property] of Object.entries(settings)) {
    expect(property.type, name).toBeDefined();
    expect(["resource", "machine", "machine-overridable"], name).toContain(property.scope);
    expect(property.markdownDescription ?? property.deprecationMessage, name).toMatch(/\.$/);
    expect(property.markdownEnumDescriptions?.length, name).toBe(property.enum?.length);
  }
});

test("the settings are in groups, and each has its place in one", () => {
  expect(configuration.map(({ order }) => order)).toEqual(configuration.map((_, index) => index));
  expect(configuration.length).toBeGreaterThan(3);
  for (const { title, properties } of configuration) {
    const places = Object.values(properties).map(({ order }) => order);
    expect(places, title).toEqual(places.map((_, index) => index));
  }
});

test("an untrusted workspace cannot set what a project may not set", () => {
  const machine = Object.entries(settings).filter(([, { scope }]) => scope !== "resource");
  const restricted = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;
  expect(restricted).toEqual(expect.arrayContaining(machine.map(([name]) => name)));
  expect(restricted).toContain("adacoder.model");
  expect(new Set(restricted).size).toBe(restricted.length);
});

test("every command exists, and menus show only declared commands", () => {
  const declared = commands.map(({ command }) => command);
  for (const command of declared) expect(source, command).toContain(`"${command}"`);
  const shown = Object.values(menus).flatMap((entries) => entries.flatMap(({ command }) => command ?? []));
  expect(declared).toEqual(expect.arrayContaining(shown));
});

test("all commands are in the category AdaCoder, and Fix has a second name", () => {
  const palette = commands.map(({ category, title }) => (category === undefined ? title : `${category}: ${title}`));
  expect(palette).toEqual(
    expect.arrayContaining(
      ["Generate Function", "Generate with a Wish…", "Generate All Stubs in File", "Fix", "Check Examples", "Suggest Examples"]
        .concat(["Another Candidate", "Show Journal", "Cancel", "Select Model", "Select Strategy", "Doctor"])
        .concat(["Show Log", "Restart Server"])
        .map((title) => `AdaCoder: ${title}`),
    ),
  );
  expect(palette.filter((title) => !title.startsWith("AdaCoder: "))).toEqual(["Fix with AdaCoder"]);
});

test("the extension starts in a folder with Python files before one is open", () => {
  expect(manifest.activationEvents).toEqual(["onLanguage:python", "workspaceContains:**/*.py"]);
});

test("the editor's context menu has one submenu, for Python only, and Escape is a key only while a reply is shown", () => {
  const [entry, ...others] = menus["editor/context"] ?? [];
  expect(others).toEqual([]);
  expect(entry?.submenu).toBe("adacoder.context");
  for (const each of entry?.when?.split(" || ") ?? [""]) expect(each).toContain("editorLangId == python && ");
  expect(submenus.map(({ id }) => id)).toEqual(["adacoder.context"]);
  const [escape, ...keys] = manifest.contributes.keybindings;
  expect(escape).toMatchObject({ command: "adacoder.hideWriting", key: "escape" });
  expect(escape?.when).toContain("adacoder.isWriting && editorTextFocus && !vim");
  for (const { key, when } of keys) expect([key, when]).toEqual([expect.stringMatching(/^ctrl\+k alt\+\w$/), expect.stringContaining("editorTextFocus")]);
});

test("tools for agents exist only while the setting is on and the workspace is trusted", () => {
  expect(languageModelTools.map(({ name }) => name)).toEqual(TOOLS.map((tool) => `adacoder_${tool}`));
  for (const { when, inputSchema, ...tool } of languageModelTools) {
    expect(when).toBe("config.adacoder.agentTools && isWorkspaceTrusted");
    expect(tool).toMatchObject({ canBeReferencedInPrompt: true, toolReferenceName: expect.stringMatching(/^\w+$/) as string });
    expect(Math.min(tool.displayName.length, tool.modelDescription.length)).toBeGreaterThan(0);
    for (const { description } of Object.values(inputSchema.properties)) expect(description).toMatch(/\.$/);
  }
  expect(settings["adacoder.agentTools"]).toMatchObject({ default: false, scope: "machine" });
});
