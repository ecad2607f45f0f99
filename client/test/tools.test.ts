import { expect, test } from "vitest";

import { answerOf, confirmationOf } from "../src/tool-texts";

test("the chat's model sees only the verdict and the failing example", () => {
  const failure = { example: "f(1)\n", want: "1\n", got: "2\n", error: null };
  const answer = answerOf({
    status: "partial",
    reason: "secret reason",
    summary: "secret summary",
    examples: { passed: 1, total: 2 },
    applied: false,
    kept: false,
    failure,
  });
  expect(answer).toBe("Verdict: partial. 1/2 examples passed.\nFailing example:\nf(1)\n\nExpected:\n1\n\nGot:\n2\n");
  const test = "tests/test_a.py::test_b";
  const told = { example: null, want: null, got: null, error: "AssertionError", test, explanation: "E   assert 1 == 2" };
  expect(answerOf({ status: "partial", reason: null, examples: { passed: 2, total: 2 }, failure: told })).toBe(
    `Verdict: partial. 2/2 examples passed.\nFailing test: ${test}\nE   assert 1 == 2`,
  );
  expect(answerOf({ status: "verified", reason: null, examples: { passed: 2, total: 2 }, applied: true })).toBe(
    "Verdict: verified. 2/2 examples passed.\nThe function was inserted.",
  );
});

test("the question to the user names what the chat's model will see", () => {
  for (const tool of ["check", "verify", "generate"] as const) {
    const { message } = confirmationOf(tool, { file: "a.py", function: "f" });
    expect(message).toMatch(/^[^?]*'f' in a.py[^?]*[?] /);
    expect(message).toContain("which may be remote");
  }
});
