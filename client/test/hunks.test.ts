import { expect, test } from "vitest";

import { headerOf, hunksOf, isNeeded, moved, undone, type Change } from "../src/hunks";

const BEFORE = "import re\n\ndef f(x):\n    ...\n\ndef g(x):\n    ...\n";
const BODIES: readonly Change[] = [
  { rangeOffset: BEFORE.lastIndexOf("..."), rangeLength: 3, text: "return x" },
  { rangeOffset: 0, rangeLength: 0, text: "import math\n" },
];
const AFTER = "import math\nimport re\n\ndef f(x):\n    ...\n\ndef g(x):\n    return x\n";

test("an edit is taken back by its hunks", () => {
  const hunks = hunksOf(BODIES, BEFORE, AFTER);
  expect(hunks).toEqual([
    { offset: 0, length: 12, old: "" },
    { offset: AFTER.indexOf("return x"), length: 8, old: "..." },
  ]);
  expect(undone(AFTER, hunks ?? [])).toBe(BEFORE);
});

test("changes that do not explain the text have no hunks", () => {
  expect(hunksOf(BODIES, BEFORE, AFTER.replace("re", "sys"))).toBeUndefined();
});

test("hunks move with changes elsewhere, and end with a change inside", () => {
  const hunks = hunksOf(BODIES, BEFORE, AFTER) ?? [];
  const elsewhere: Change = { rangeOffset: AFTER.indexOf("..."), rangeLength: 3, text: "return x + x" };
  const now = AFTER.replace("...", "return x + x");
  expect(undone(now, moved(hunks, [elsewhere]) ?? [])).toBe(BEFORE.replace("...", "return x + x"));
  expect(moved(hunks, [{ rangeOffset: AFTER.indexOf("return"), rangeLength: 6, text: "yield" }])).toBeUndefined();
});

test("an import is needed if other hunks use a name that it binds", () => {
  for (const [inserted, used, isNeededThen] of [
    ["import math\n", "return math.pi", true],
    ["import math\n", "return mathematics", false],
    ["import os.path as place, re\n", "return place.sep", true],
    ["import os.path as place\n", "return os.sep", false],
    ["from a import (\n    b,\n    c as d,  # e\n)\n", "return d", true],
    ["from a import (\n    b,\n    c as d,  # e\n)\n", "return a + c + e", false],
    ["from größe import länge\n", "return länge(1)", true],
    ["return math.pi", "return math.pi", false],
  ] as const) {
    const hunks = [
      { offset: 0, length: inserted.length, old: "" },
      { offset: inserted.length, length: used.length, old: "..." },
    ] as const;
    expect([inserted, isNeeded(inserted + used, hunks[0], [hunks[1]])]).toEqual([inserted, isNeededThen]);
  }
});

test("whatever edits follow each other, each is taken back alone", () => {
  const random = numbers(20261129);
  let apart = 0;
  for (let round = 0; round < 500; round++) {
    const before = Array.from({ length: random(40) }, () => ["a", "b", "\n", "\u{1f600}"][random(4)] ?? "").join("");
    const [first, middle] = edited(before, random);
    const [second, after] = edited(middle, random);
    const [one, other] = [hunksOf([first], before, middle) ?? [], hunksOf([second], middle, after) ?? []];
    expect(undone(middle, one)).toBe(before);
    expect(undone(after, other)).toBe(middle);
    const shifted = moved(one, [second]);
    if (shifted === undefined) continue;
    apart++;
    expect(after.slice(shifted[0]?.offset).startsWith(first.text)).toBe(true);
  }
  expect(apart).toBeGreaterThan(100);
});

test("the lenses are above the function of the longest hunk", () => {
  const lines = ["import math", "", "@cache", "async def f(x):", '    """One."""', "    y = x", "    return y"];
  expect(headerOf(lines, [{ first: 0, last: 0 }, { first: 5, last: 6 }])).toBe(3);
  expect(headerOf(lines, [{ first: 0, last: 0 }])).toBe(0);
  const others = ["def f():", "    return 1", "class A:", '    """One.', "", "    def in_words", '    """', "    x = 1"];
  expect(headerOf(others, [{ first: 7, last: 7 }])).toBe(2);
  expect(headerOf(others, [{ first: 2, last: 7 }])).toBe(2);
});

function edited(text: string, random: (below: number) => number): [Change, string] {
  const rangeOffset = random(text.length + 1);
  const rangeLength = random(Math.min(text.length - rangeOffset, 5) + 1);
  const inserted = "xyz\n".slice(random(5));
  const after = text.slice(0, rangeOffset) + inserted + text.slice(rangeOffset + rangeLength);
  return [{ rangeOffset, rangeLength, text: inserted }, after];
}

/** Numbers that look random and are the same in each run (Park and Miller). */
function numbers(seed: number): (below: number) => number {
  let state = seed % 2147483647;
  return (below) => (state = (state * 48271) % 2147483647) % below;
}
