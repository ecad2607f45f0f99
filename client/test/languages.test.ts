/** All texts that a person sees can be translated, and each language has all of them. */

import { getL10nJson } from "@vscode/l10n-dev";
import ts from "typescript";
import { expect, test, vi } from "vitest";

import type { Situation } from "../src/situation";
import { ENGLISH, LANGUAGES, read, sources, textsOf } from "./texts";

/** The properties of the manifest that a person reads. */
const READ = /^(?:title|label|description|altText|displayName|userDescription|category|\w*[dD]escriptions?|\w*Message)$/;
/** A name, which is the same in each language. */
const NAME = "AdaCoder";
/** The properties, files and functions with texts for models, which are English. */
const FOR_MODELS = ["inputSchema", "modelDescription", "src/agent-process.ts", "src/tools.ts", "severalFolders", "unsaved"];
/** Calls whose texts are English: the log has them, or a message shows another text in place of them. */
const NOT_SHOWN = /^(?:new Error|(?:this\.)?(?:log|output)\.(?:info|warn|error))$/;
/** Three words, but no Python code. */
const SENTENCE = /^(?!import ).*[A-Za-z]{2}[,.]? [A-Za-z]{2,}[,.]? [A-Za-z]{2,}/;
/** The parts of a text that no translation changes: places for values, code, links, settings and numbers. */
const FIXED = /\{\d+\}|`[^`]*`|\]\([^)]+\)|\$\{|[\w-]+\.[\w.]*[A-Z]\w*|\d+(?:\.\d+)*/g;

/** The texts of a part of the manifest that a person reads. */
function readIn(part: unknown, name = ""): string[] {
  if (typeof part === "string") return READ.test(name) && part !== NAME ? [part] : [];
  if (Array.isArray(part)) return part.flatMap((each) => readIn(each, name));
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => (FOR_MODELS.includes(key) ? [] : readIn(value, key)));
}

/** The text of a string, with a word for each value. */
function wordsOf(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join("value") : "";
}

/** The sentences of a source that are not translated, and the calls of `l10n.t` whose text the export cannot read. */
function untranslated(path: string, text: string): string[] {
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && FOR_MODELS.includes(node.name?.text ?? "")) return;
    const called = ts.isNewExpression(node) ? `new ${node.expression.getText()}` : ts.isCallExpression(node) ? node.expression.getText() : "";
    if (NOT_SHOWN.test(called)) return;
    if (ts.isCallExpression(node) && called === "l10n.t") {
      const [message, ...values] = node.arguments;
      if (message === undefined || !ts.isStringLiteral(message)) found.push(node.getText());
      values.forEach(look);
      return;
    }
    if (SENTENCE.test(wordsOf(node))) found.push(node.getText());
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

const fixed = (text: string): string[] => [...(text.match(FIXED) ?? [])].sort();

test("the manifest has a key in place of each text that a person reads, and no key without a text", () => {
  const texts = readIn(JSON.parse(read("package.json")));
  expect(texts.filter((text) => !/^%.+%$/.test(text))).toEqual([]);
  expect(new Set(texts.map((text) => text.slice(1, -1)))).toEqual(new Set(Object.keys(textsOf(ENGLISH[0]))));
  expect(readIn({ commands: [{ command: "a b c", title: "A Title", inputSchema: { description: "x" } }] })).toEqual(["A Title"]);
});

test("the source translates each sentence, and the file of English texts is up to date", async () => {
  const files = sources.filter((path) => !FOR_MODELS.includes(path));
  expect(files.flatMap((path) => untranslated(path, read(path)))).toEqual([]);
  expect(untranslated("a.ts", "tell(`Here ${x} is one.`); tell(l10n.t(`two`)); tell(l10n.t('Here is three.'), log.info('Here is four.'))")).toEqual([
    "`Here ${x} is one.`",
    "l10n.t(`two`)",
  ]);
  const exported = await getL10nJson(sources.map((path) => ({ extension: ".ts", contents: read(path) })));
  expect(textsOf(ENGLISH[1]), "run `npm run l10n`").toEqual(exported);
});

test.each(LANGUAGES)("each text has a translation to $language, with the same places, code, links and numbers", ({ files }) => {
  for (const [index, path] of files.entries()) {
    const [english, translated] = [textsOf(ENGLISH[index] ?? ""), textsOf(path)];
    expect(Object.keys(translated).sort(), path).toEqual(Object.keys(english).sort());
    for (const [key, text] of Object.entries(translated)) {
      expect(text, key).not.toBe("");
      expect(fixed(text), key).toEqual(fixed(english[key] ?? ""));
    }
  }
});

test("a translation that changes a place, code, a link, a setting or a number is found", () => {
  expect(LANGUAGES.map(({ language }) => language)).toContain("de");
  const text = "{0} of `x` in #adacoder.openai.baseUrl#, 2 to 11: [a](command:b.c)";
  expect(fixed("[a](command:b.c): 2 bis 11 von `x` in #adacoder.openai.baseUrl#, {0}")).toEqual(fixed(text));
  for (const part of ["{0}", "`x`", "baseUrl", "11", "b.c"]) expect(fixed(text.replace(part, "")), part).not.toEqual(fixed(text));
});

test("the client speaks German in a German editor", async () => {
  vi.resetModules();
  const { l10n } = await import("./fake/vscode");
  l10n.bundle = textsOf("l10n/bundle.l10n.de.json");
  const { afterCrash, menu, shown } = await import("../src/situation");
  const { buttons } = await import("../src/ending");
  const job = { jobId: "1", uri: "file:///a.py", qualifiedName: "size", target: "a.py::size", mode: "generate", message: "round 1" };
  const situation: Situation = { condition: { kind: "running" }, findings: [], jobs: [job], platform: "linux", hasFile: true };
  expect(shown(situation).text).toBe("AdaCoder: Generierung von 'size'");
  expect(menu(situation)[0]?.label).toBe("$(circle-slash) Abbrechen: Generierung von 'size'");
  expect(afterCrash([job, job], false)).toContain("Unterbrochen: Generierung von 'size' und Generierung von 'size'.");
  const ended = { jobId: "1", message: "", isGood: false, kept: true, textDocument: { uri: "file:///a.py", version: 1 }, remedies: [] };
  expect(buttons(ended, false).map(({ title }) => title)).toEqual(["Unterschied anzeigen", "Einfügen", "Verwerfen", "Journal anzeigen"]);
});
