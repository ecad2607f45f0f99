/** Fails where what was packaged has grown too large to be downloaded in a moment. */

import { readFileSync, statSync } from "node:fs";

const MOST_BYTES = 2_000_000;
const { name, version } = JSON.parse(readFileSync("package.json", "utf8"));
const { size } = statSync(`${name}-${version}.vsix`);
if (size > MOST_BYTES) throw new Error(`The .vsix has ${size} bytes, of ${MOST_BYTES} at most.`);
