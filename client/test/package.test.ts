/** The package agrees with the rest of the repository. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { PackageManager, listFiles } from "@vscode/vsce";
import { expect, test } from "vitest";

import { ENGLISH, LANGUAGES, ROOT as client, manifestWith, read } from "./texts";

interface Manifest {
  readonly version: string;
  readonly main: string;
  readonly icon: string;
  readonly enabledApiProposals?: unknown;
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string }[];
    readonly walkthroughs: readonly {
      readonly steps: readonly {
        readonly description: string;
        readonly media: { readonly image: string; readonly altText: string };
      }[];
    }[];
  };
}

const manifest = manifestWith("package.nls.json") as Manifest;
const steps = manifest.contributes.walkthroughs.flatMap((each) => each.steps);

test("the versions of client, server and changelog agree", () => {
  const [, server] = /__version__ = "([^"]+)"/.exec(read("../server/adacoder/__init__.py")) ?? [];
  const [, latest] = /^## (\S+)/m.exec(read("../CHANGELOG.md")) ?? [];
  const lock = JSON.parse(read("package-lock.json")) as { version: string; packages: Record<string, Manifest> };
  expect([manifest.version, latest, lock.version, lock.packages[""]?.version]).toEqual(Array(4).fill(server));
});

test("the package contains neither a download address nor a proposed API", () => {
  expect(read("package-lock.json")).not.toMatch(/"resolved"|https?:\/\/registry/);
  expect(manifest.enabledApiProposals).toBeUndefined();
});

test("the package contains the texts in each language, but no client of another editor", async () => {
  expect(existsSync(join(client, "emacs/adacoder.el"))).toBe(true);
  const files = await listFiles({ cwd: client, packageManager: PackageManager.None });
  expect(files).toEqual(expect.arrayContaining([...ENGLISH, ...LANGUAGES.flatMap((each) => each.files)]));
  expect(files.filter((file) => file.startsWith("emacs"))).toEqual([]);
});

test("the walkthrough has five steps, each with a picture, words for it, and a button", () => {
  expect(steps).toHaveLength(5);
  for (const { description, media } of steps) {
    expect(existsSync(join(client, media.image))).toBe(true);
    expect(media.altText).not.toBe("");
    expect(description).toMatch(/\]\(command:adacoder\.[\w.]+\)$/);
  }
});

test("every command has a unique name, and every button has a command", () => {
  for (const [texts] of [ENGLISH, ...LANGUAGES.map(({ files }) => files)]) {
    const titles = (manifestWith(texts) as Manifest).contributes.commands.map(({ title }) => title);
    expect(new Set(titles).size, texts).toBe(titles.length);
  }
  const source = ["src/extension.ts", "src/walkthrough.ts", "src/status.ts"].map(read).join("\n");
  for (const { description } of steps) {
    const [, command] = /\(command:([\w.]+)\)/.exec(description) ?? [];
    expect(source).toContain(`"${command ?? ""}"`);
  }
});

test("the licence is the project's, and the README's pictures are packaged", () => {
  expect(read("LICENSE")).toBe(read("../LICENSE"));
  expect(existsSync(join(client, manifest.icon))).toBe(true);
  for (const [, image] of read("README.md").matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)) {
    expect(existsSync(join(client, image ?? ""))).toBe(true);
  }
});
