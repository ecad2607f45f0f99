// Bundles the extension into dist/, beside the licences of the packages that end up in the bundle, and the README.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  minify: true,
  metafile: true,
  logLevel: "warning",
});

const MOST_BYTES = 600_000;
const { bytes } = metafile.outputs["dist/extension.js"];
if (bytes > MOST_BYTES) throw new Error(`The bundle has ${bytes} bytes, of ${MOST_BYTES} at most.`);

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => PACKAGE.exec(path)?.[0] ?? []));

const notices = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} comes without its licence; it cannot be bundled.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync("dist/THIRD-PARTY-NOTICES.txt", notices.join(`\n${"-".repeat(80)}\n\n`));

// VS Code shows a page of the README that finds no files, so its pictures are part of it. The newest VS Code shows only
// pictures from the web there, and the words of the others.
const embedded = (_, words, file) => `![${words}](data:image/${file.split(".").at(-1)};base64,${readFileSync(file, "base64")})`;
writeFileSync("dist/README.md", readFileSync("README.md", "utf8").replace(/!\[([^\]]+)\]\(([^)]+)\)/g, embedded));
