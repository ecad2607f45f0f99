/** What this client tells the server that it can do, beyond LSP. */

import type { ClientCapabilities, FeatureState, StaticFeature } from "vscode-languageclient/node";

/** It shows by itself how jobs end. */
export class OwnCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), adacoder: { endings: true } };
  }

  initialize(): void {
    // Nothing depends on what the server can do.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // Nothing is kept.
  }
}
