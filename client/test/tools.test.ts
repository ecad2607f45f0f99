import { expect, test } from "vitest";

import { TOOLS, confirmationOf, unsaved } from "../src/tool-texts";

test("the question to the user names the function and the data for the chat's model", () => {
  for (const tool of TOOLS) {
    const { title, message } = confirmationOf(tool, { path: "a.py", name: "f" });
    expect(title).toMatch(/^AdaCoder: [a-z ]+ 'f'$/);
    expect(message).toMatch(/^[^?]*'f' in a.py[^?]*[?] .*which may be remote, then sees .*[.]$/);
  }
});

test.each([
  [{ path: "a.py" }, "a.py"],
  [{}, "the workspace folder"],
  [{ base: "HEAD" }, "what changed in the workspace folder since HEAD"],
  [{ path: "a.py", name: "f", base: "HEAD" }, "what changed in 'f' in a.py since HEAD"],
])("the question about %o names its place", (input, place) => {
  expect(confirmationOf("check_examples", input).message).toContain(`Run the examples of ${place}?`);
});

test("the question shows an agent's text on one line, short, and without hidden characters", () => {
  const { message } = confirmationOf("insert_verified", { path: `a.py\n\u202e${"x".repeat(500)}`, name: null, base: 5 });
  expect(message).toContain("a.py\\u{a}\\u{202e}xxx");
  expect(message).not.toMatch(/[\n\u202e]|null|5/);
  expect(message.length).toBeLessThan(400);
});

test("unsaved changes are named with what to do", () => {
  expect(unsaved("a.py").next).toBe("'a.py' has unsaved changes, so nothing ran: save it, then call the tool again.");
  expect(unsaved("").next).toBe("A Python file has unsaved changes, so nothing ran: save all files, then call the tool again.");
});
