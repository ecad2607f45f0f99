/** The files of the client, and its texts in each language. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..");
export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The files of the source. */
export const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join("src", name));

/** The English texts of the manifest, and of the source. */
export const ENGLISH = ["package.nls.json", "l10n/bundle.l10n.json"] as const;

/** The other languages, each with its texts of the manifest, and of the source. */
export const LANGUAGES = readdirSync(ROOT)
  .flatMap((name) => /^package\.nls\.(.+)\.json$/.exec(name)?.[1] ?? [])
  .map((language) => ({ language, files: [`package.nls.${language}.json`, `l10n/bundle.l10n.${language}.json`] as const }));

/** The texts of a file, by their keys. */
export const textsOf = (path: string): Readonly<Record<string, string>> => JSON.parse(read(path)) as Readonly<Record<string, string>>;

/** The manifest with the texts of a file, as VS Code shows it. */
export function manifestWith(path: string): unknown {
  const texts = textsOf(path);
  return JSON.parse(read("package.json").replace(/"%([^"]+)%"/g, (_, key: string) => JSON.stringify(texts[key])));
}
