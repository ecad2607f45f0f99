/** Capabilities that this client declares to the server, beyond LSP. */

import type { ClientCapabilities, FeatureState, StaticFeature } from "vscode-languageclient/node";

/** Declares that this client shows by itself how jobs end, what models write, and new evidence. */
export class OwnCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), adacoder: { endings: true, evidence: true, writing: true } };
  }

  initialize(): void {
    // The server's capabilities do not matter.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // No state to clear.
  }
}
