/** The tree of a file's examples, from the server's list. Uses VS Code only to translate texts. */

import { l10n } from "vscode";
import type { Range } from "vscode-languageclient/node";

/** The request for a file's examples; its answer is {@link ExamplesAnswer}. */
export const EXAMPLES = "adacoder/examples";

/** An example of a docstring. */
export interface Example {
  readonly id: string;
  readonly range: Range;
  readonly source: string;
  readonly want: string;
}

/** A page, or a module, class or function with a docstring. */
export interface Documented {
  /** null: its examples cannot be run. */
  readonly id: string | null;
  readonly qualifiedName: string;
  readonly kind: "function" | "class" | "module" | "page";
  readonly range: Range;
  /** True if the function has no body yet. */
  readonly isStub?: boolean;
  readonly examples: readonly Example[];
}

export interface ExamplesAnswer {
  readonly items: readonly Documented[];
  /** The reason why the file, or a part of it, cannot be run. */
  readonly reason?: string | null;
}

/** The labels of docstrings that have no name of their own. */
const LABELS = {
  class: l10n.t("docstring of the class"),
  module: l10n.t("docstring of the module"),
  page: l10n.t("docstring of the page"),
};

/** A node of the tree: a class, a function, a docstring or an example. */
export interface Node {
  readonly id: string;
  readonly label: string;
  readonly range: Range;
  /** The id with which this node is run; undefined if only its children can be run. */
  readonly runs: string | undefined;
  readonly want: string | undefined;
  /** True if the node belongs to a function that has no body yet. */
  readonly isStub: boolean;
  readonly children: Node[];
}

/**
 * The nodes below a file: classes with their methods, functions, and the module's docstring, if they have examples.
 * Below a page, the examples themselves.
 */
export function tree(uri: string, items: readonly Documented[]): Node[] {
  const top: Node[] = [];
  const classes = new Map<string, Node>();
  for (const item of items) {
    if (item.id === null || item.examples.length === 0) continue;
    const path = item.qualifiedName.split(".");
    const siblings = within(uri, path.slice(0, item.kind === "class" ? path.length : -1), item.range, top, classes);
    const node = docstring(item, item.id);
    siblings.push(...(item.kind === "page" ? node.children : [node]));
  }
  return top;
}

function docstring(item: Documented, id: string): Node {
  const label = item.kind === "function" ? (item.qualifiedName.split(".").at(-1) ?? "") : LABELS[item.kind];
  const isStub = item.isStub === true;
  const children = item.examples.map(({ id, range, source, want }) => ({
    id,
    label: source.split("\n", 1)[0] ?? "",
    range,
    runs: item.id ?? undefined,
    want,
    isStub,
    children: [],
  }));
  return { id, label, range: item.range, runs: id, want: undefined, isStub, children };
}

/** The children of the class at `path`. Adds the class to the tree if necessary. */
function within(uri: string, path: readonly string[], range: Range, top: Node[], classes: Map<string, Node>): Node[] {
  let siblings = top;
  for (const [depth, label] of path.entries()) {
    const id = `${uri}#class:${path.slice(0, depth + 1).join(".")}`;
    let node = classes.get(id);
    if (node === undefined) {
      node = { id, label, range, runs: undefined, want: undefined, isStub: false, children: [] };
      classes.set(id, node);
      siblings.push(node);
    }
    siblings = node.children;
  }
  return siblings;
}
