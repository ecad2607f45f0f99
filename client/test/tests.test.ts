import { expect, test } from "vitest";

import { fileOf, lines, told } from "../src/tests/results";
import { tree, type Documented, type Node } from "../src/tests/tree";

const URI = "file:///shapes.py";
const at = (line: number): Documented["range"] => ({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } });

function item(qualifiedName: string, kind: Documented["kind"], line: number, sources: readonly string[] = ["x\n"]): Documented {
  const id = `${URI}#${qualifiedName}`;
  const examples = sources.map((source, index) => ({
    id: `${id}/${String(index + 1)}`,
    range: at(line + 1),
    source,
    want: "1\n",
  }));
  return { id, qualifiedName, kind, range: at(line), examples };
}

type Shape = readonly [label: string, ...children: Shape[]];
const shape = ({ label, children }: Node): Shape => [label, ...children.map(shape)];

test("a module's docstring, functions and classes with their methods, each with its examples", () => {
  const nodes = tree(URI, [
    item("__doc__", "module", 0),
    item("area", "function", 3, ["area(\n    2)\n", "area(3)\n"]),
    item("Shape", "class", 9),
    item("Shape.side", "function", 12),
    item("Shape.Inner.side", "function", 15),
    item("Bare.side", "function", 20),
  ]);
  expect(nodes.map(shape)).toEqual([
    ["docstring of the module", ["x"]],
    ["area", ["area("], ["area(3)"]],
    ["Shape", ["docstring of the class", ["x"]], ["side", ["x"]], ["Inner", ["side", ["x"]]]],
    ["Bare", ["side", ["x"]]],
  ]);
});

test("an example runs its docstring, and a class runs only its members", () => {
  const [shapes] = tree(URI, [item("Shape", "class", 9)]);
  expect(shapes?.runs).toBeUndefined();
  expect(shapes?.children[0]?.runs).toBe(`${URI}#Shape`);
  expect(shapes?.children[0]?.children[0]).toMatchObject({ id: `${URI}#Shape/1`, runs: `${URI}#Shape`, want: "1\n" });
});

test("code without runnable examples has no test", () => {
  expect(tree(URI, [item("bare", "function", 1, []), { ...item("inner", "function", 4), id: null }])).toEqual([]);
});

const RESULT = { id: `${URI}#f`, status: "partial", reason: "No.", coverage: null };
const example = (number: number, state: "passed" | "failed" | "skipped" | "unknown", got: string | null, error: string | null) =>
  ({ id: `${URI}#f/${String(number)}`, state, got, error }) as const;

test("a failure shows its output or its error, and an example that did not run is skipped", () => {
  const results = [
    example(1, "passed", "1\n", null),
    example(2, "failed", "2\n", null),
    example(3, "failed", "", "Traceback: no"),
    example(4, "unknown", null, null),
    example(5, "skipped", null, null),
  ];
  expect(told({ ...RESULT, results })).toEqual([
    { id: `${URI}#f/1`, state: "passed", got: "1\n" },
    { id: `${URI}#f/2`, state: "failed", message: "Its output differs from the docstring.", got: "2\n" },
    { id: `${URI}#f/3`, state: "failed", message: "Traceback: no" },
    { id: `${URI}#f/4`, state: "skipped" },
    { id: `${URI}#f/5`, state: "skipped" },
  ]);
});

test("an action denied by isolation is an error, and a hint comes before the difference", () => {
  const hint = "It needs processes, which isolation denies.";
  const denied = { ...example(1, "failed", "", "OSError: no"), hint };
  expect(told({ ...RESULT, status: "denied", results: [denied] })).toEqual([{ id: `${URI}#f/1`, state: "errored", message: hint }]);
  const differs = { ...example(1, "failed", "2\n", null), hint: "Only the order differs." };
  expect(told({ ...RESULT, results: [differs] })).toEqual([
    { id: `${URI}#f/1`, state: "failed", message: "Only the order differs.", got: "2\n" },
  ]);
});

test("a docstring that could not run is an error", () => {
  const results = [example(1, "unknown", null, null)];
  const error = { id: `${URI}#f`, state: "errored", message: "No." };
  expect(told({ ...RESULT, status: "error", results })).toEqual([error]);
  expect(told({ ...RESULT, results: [] })).toEqual([error]);
});

test("a problem that prevents examples from running is their error", () => {
  const failure = { message: "`x = 1` is a syntax error: unexpected indent." };
  const error = { id: `${URI}#f/2`, state: "errored", message: failure.message };
  const results = [example(1, "passed", "1\n", null), example(2, "unknown", null, null)];
  expect(told({ ...RESULT, failure, results })).toEqual([{ id: `${URI}#f/1`, state: "passed", got: "1\n" }, error]);
  expect(told({ ...RESULT, results })[1]).toEqual({ id: `${URI}#f/2`, state: "skipped" });
});

test("coverage merges all docstrings and shows one-sided branches", () => {
  const found = lines([
    { reached: [2, 4], unreached: [{ line: 3 }, { line: 9 }], branches: [{ line: 2, never: false }] },
    { reached: [3], unreached: [], branches: [] },
  ]);
  expect(found).toEqual([
    { line: 2, reached: true, branches: [{ label: "true", reached: true }, { label: "false", reached: false }] },
    { line: 3, reached: true, branches: [] },
    { line: 4, reached: true, branches: [] },
    { line: 9, reached: false, branches: [] },
  ]);
});

test("an id contains its file", () => {
  expect(fileOf(`${URI}#Shape.side~2`)).toBe(URI);
});
