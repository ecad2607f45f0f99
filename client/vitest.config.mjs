import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { testTimeout: 30_000 },
  resolve: { alias: { vscode: join(import.meta.dirname, "test/fake/vscode.ts") } },
});
