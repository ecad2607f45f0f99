// A stand-in for `adacoder mcp`. Its results have the call and everything that the client told it before.
import { createInterface } from "node:readline";

const told = [];
let settings;

const answer = (id, rest) => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);
};

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line);
  told.push(method);
  if (method === "initialize") {
    settings = params.capabilities.experimental.adacoder.settings;
    answer(id, { result: {} });
  }
  if (method !== "tools/call") continue;
  if (params.name === "crash") process.exit(1);
  if (params.name === "unknown") answer(id, { error: { code: -32602, message: "This tool is unknown." } });
  if (["wait", "unknown"].includes(params.name)) continue;
  process.stdout.write("no JSON\n");
  answer(undefined, { method: "notifications/progress", params: {} });
  const root = process.argv[process.argv.indexOf("--root") + 1];
  const result = { asked: params, told, settings, root, cwd: process.cwd(), pid: process.pid, text: "é\u2028" };
  answer(id, { result: { structuredContent: result, isError: true, content: [] } });
}
