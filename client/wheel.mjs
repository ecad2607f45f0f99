/** Puts the server's wheel and the changelog where they are packaged. Needs Python 3.11 or later with pip. */

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";

mkdirSync("dist", { recursive: true });
for (const old of readdirSync("dist").filter((name) => name.endsWith(".whl"))) rmSync(`dist/${old}`);

const python = process.platform === "win32" ? "python" : "python3";
const args = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", "dist", ".."];
const { status, error } = spawnSync(python, args, { stdio: "inherit" });
if (error !== undefined || status !== 0) throw new Error("The server's wheel was not built.", { cause: error });

copyFileSync("../CHANGELOG.md", "CHANGELOG.md");
