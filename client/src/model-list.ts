/** Models and strategies to choose from, as reported by the server. Uses VS Code only to translate texts. */

import { l10n } from "vscode";

/** Answer of `adacoder.server.models`. */
export interface Models {
  readonly models: readonly Model[];
  readonly recommended: readonly Recommended[];
  readonly reason: string | null;
}

export interface Model {
  readonly name: string;
  readonly billions: number;
  readonly cloud: boolean;
  readonly bytes: number | null;
  readonly fits: boolean | null;
  readonly quantization: string | null;
  readonly chats: boolean | null;
  readonly loaded: boolean;
}

export interface Recommended {
  readonly name: string;
  readonly bytes: number;
  readonly fits: boolean | null;
  readonly installed: boolean;
}

/** Answer of `adacoder.server.strategies`. */
export interface Strategies {
  readonly strategies: readonly { readonly name: string; readonly calls: string; readonly summary: string }[];
}

/** An entry to choose. */
export interface Choice {
  readonly label: string;
  readonly description: string;
  /** A second line. */
  readonly detail?: string;
  /** The new value of the setting; null clears the setting. */
  readonly value: string | null;
  readonly group: string;
  /** A step before the value is set: download the model, or ask for its name. */
  readonly first: "download" | "ask" | null;
  readonly chosen: boolean;
}

/** The models to choose from. */
export function modelChoices({ models, recommended }: Models, current: unknown): Choice[] {
  const now = Array.isArray(current) ? (current[0] as unknown) : current;
  const isNow = (name: string): boolean => now === name || now === `ollama:${name}`;
  const installed = models.filter(({ chats }) => chats !== false);
  return [
    {
      label: l10n.t("Automatic"),
      description: l10n.t("the best for code that Ollama has"),
      value: null,
      group: "",
      first: null,
      chosen: now === undefined || now === "",
    },
    ...installed.map((model) => ({
      label: model.name,
      description: aboutModel(model),
      value: `ollama:${model.name}`,
      group: l10n.t("Installed"),
      first: null,
      chosen: isNow(model.name),
    })),
    ...recommended
      .filter((model) => !model.installed)
      .map(({ name, bytes, fits }) => ({
        label: name,
        description: [gigabytes(bytes), ...room(fits)].join(" · "),
        value: `ollama:${name}`,
        group: l10n.t("To download"),
        first: "download" as const,
        chosen: false,
      })),
    {
      label: l10n.t("Other Model…"),
      description: l10n.t("by its name, such as openai:NAME"),
      value: null,
      group: l10n.t("Other"),
      first: "ask",
      chosen: false,
    },
  ];
}

function aboutModel({ billions, cloud, bytes, fits, quantization, loaded }: Model): string {
  return [
    ...(billions > 0 ? [`${String(Number(billions.toPrecision(3)))}B`] : []),
    ...(quantization === null ? [] : [quantization]),
    ...(bytes === null ? [] : [gigabytes(bytes)]),
    ...(cloud ? [l10n.t("in Ollama's cloud")] : room(fits)),
    ...(loaded ? [l10n.t("loaded")] : []),
  ].join(" · ");
}

function room(fits: boolean | null): string[] {
  return fits === null ? [] : [fits ? l10n.t("fits into memory") : l10n.t("too large for memory")];
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The strategies to choose from. */
export function strategyChoices({ strategies }: Strategies, current: unknown): Choice[] {
  return strategies.map(({ name, calls, summary }) => ({
    label: name,
    description: calls === "1" ? l10n.t("1 model call") : l10n.t("{0} model calls", calls),
    detail: summary,
    value: name,
    group: "",
    first: null,
    chosen: current === name,
  }));
}

/** The values of a setting by scope. */
export interface Inspected {
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The scope in which to change a setting: the one that already sets it, which overrides others, else the user's. */
export function placeOf(inspected: Inspected | undefined): "folder" | "workspace" | "user" {
  if (inspected?.workspaceFolderValue !== undefined) return "folder";
  return inspected?.workspaceValue !== undefined ? "workspace" : "user";
}
