import { expect, test } from "vitest";

import { rows, type Writing } from "../src/writing-rows";

const LINES = ["def f(x):", '    """Twice.', "    >>> f(1)", "    2", '    """'];

function writing(...lines: string[]): Writing {
  return { jobId: "j", uri: "file:///a.py", version: 1, first: 0, last: 4, message: "round 1/6 · writing", lines };
}

test("the state comes first, and the last lines of the reply stand below it in one column", () => {
  const found = rows(LINES, writing("def f(x):", "", "    y = x", "    y += x", "    return y", "# end"), 4);
  expect(found.map(({ text }) => text.replaceAll("\u00a0", " "))).toEqual([
    "round 1/6 · writing",
    "    y = x",
    "    y += x",
    "    return y",
    "# end",
  ]);
  expect(found.map(({ columns }, index) => columns + (LINES[index]?.length ?? 0))).toEqual([17, 17, 17, 17, 17]);
});

test("before the model writes, only the state is shown", () => {
  expect(rows(LINES, writing(), 4)).toEqual([{ text: "round\u00a01/6\u00a0·\u00a0writing", columns: 4 }]);
});

test("a function on one line has the last line of the reply behind the state", () => {
  const [only, ...others] = rows(['def f(): "Doc."'], writing("def f():", "    return 1"), 4);
  expect(only?.text.replaceAll("\u00a0", " ")).toBe("round 1/6 · writing  return 1");
  expect(others).toEqual([]);
});

test("tabs count as in the editor, and long lines are cut", () => {
  const [first, second] = rows(["\tdef f():", '\t\t"""D."""'], writing("\t".repeat(2) + "x".repeat(200)), 8);
  expect([first?.columns, second?.columns]).toEqual([12, 4]);
  expect(second?.text.startsWith("\u00a0".repeat(16) + "x")).toBe(true);
  expect(second?.text.length).toBeLessThan(120);
});
