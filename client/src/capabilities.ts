/** Capabilities that this client declares to the server, beyond LSP. */

import type { ClientCapabilities, FeatureState, StaticFeature } from "vscode-languageclient/node";

/** Declares that this client itself shows the ends of jobs, models' replies while they grow, and new evidence. */
export class OwnCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), adacoder: { endings: true, evidence: true, writing: true } };
  }

  initialize(): void {
    // Nothing depends on the server's capabilities.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // No state to clear.
  }
}
