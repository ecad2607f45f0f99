import { expect, test } from "vitest";

import {
  NO_WINDOWS,
  afterCrash,
  again,
  doctorDocument,
  menu,
  modelOf,
  shown,
  type Finding,
  type Job,
  type Situation,
} from "../src/situation";

const found = (name: string, ok: boolean | null, text: string, more: Partial<Finding> = {}): Finding => ({
  name,
  ok,
  text,
  advice: "",
  model: null,
  ...more,
});
const MODEL = found("Model", true, "qwen2.5-coder:7b: answers at once", { model: "ollama:qwen2.5-coder:7b" });
const ISOLATION = found("Isolation", true, "full (bubblewrap, landlock): it was tried");
const NO_OLLAMA = found("Ollama", false, "no usable server", { advice: "Start it." });
const JOB: Job = {
  jobId: "1",
  uri: "file:///a.py",
  qualifiedName: "Box.size",
  target: "a.py::Box.size",
  mode: "generate",
  message: "round 1",
};
const FILE: Job = { ...JOB, jobId: "2", qualifiedName: null, target: "a.py", mode: "generateAll" };
const running: Situation = {
  condition: { kind: "running" },
  findings: [MODEL, ISOLATION],
  jobs: [],
  platform: "linux",
  hasFile: false,
};

test("the status shows the model and the isolation", () => {
  expect(shown(running)).toEqual({
    text: "AdaCoder: qwen2.5-coder:7b",
    details: ["Model: qwen2.5-coder:7b", "Isolation: full"],
    severity: "information",
    busy: false,
  });
  expect(shown({ ...running, findings: [] })).toMatchObject({ text: "AdaCoder: ready", details: [] });
});

test("the status names the first of several models", () => {
  const other = { ...MODEL, model: "openai:big" };
  expect(modelOf([MODEL, MODEL, other])).toBe("qwen2.5-coder:7b (+1)");
  expect(modelOf([other])).toBe("openai:big");
  expect(modelOf([{ ...MODEL, ok: false }])).toBeUndefined();
});

test("a missing part is shown with its advice", () => {
  const status = shown({ ...running, findings: [ISOLATION, NO_OLLAMA] });
  expect(status).toMatchObject({ text: "AdaCoder: no model server", severity: "warning" });
  expect(status.details).toContain("Missing: Ollama: no usable server. Start it.");
  const bare = shown({ ...running, findings: [MODEL, found("Isolation", false, "nothing")] });
  expect(bare.text).toBe("AdaCoder: isolation missing");
  expect(bare.details).toContain("Isolation: none, so nothing runs");
});

test("running jobs are shown first", () => {
  const status = shown({ ...running, findings: [NO_OLLAMA], jobs: [JOB] });
  expect(status).toMatchObject({ text: "AdaCoder: generating 'Box.size'", busy: true });
  expect(status.details[0]).toBe("Generating 'Box.size': round 1");
  expect(shown({ ...running, jobs: [FILE, JOB] }).text).toBe("AdaCoder: generating the stubs of 'a.py' (+1)");
  expect(shown({ ...running, jobs: [{ ...JOB, mode: "new" }] }).text).toBe("AdaCoder: working on 'Box.size'");
});

test("a stopped server shows the reason", () => {
  const why = "It crashed too often.";
  expect(shown({ ...running, condition: { kind: "stopped", why } })).toMatchObject({
    text: "AdaCoder: stopped",
    details: [why],
    severity: "error",
  });
  expect(shown({ ...running, condition: { kind: "absent", why } }).text).toBe("AdaCoder: not installed");
  expect(shown({ ...running, condition: { kind: "starting" } })).toMatchObject({ busy: true, severity: "information" });
});

test("the server is idle before its first request, and the menu can start it", () => {
  const idle = { ...running, findings: [], condition: { kind: "idle" } } as const;
  expect(shown(idle)).toMatchObject({ text: "AdaCoder", severity: "information", busy: false });
  expect(shown(idle).details).toEqual([expect.stringContaining("starts with the first Python file")]);
  expect(shown({ ...idle, platform: "win32" }).details).toContain(NO_WINDOWS);
  expect(commandsOf(idle)).toContain("adacoder.selectModel");
});

test("limits on other systems are shown", () => {
  expect(shown({ ...running, platform: "win32" })).toMatchObject({ severity: "warning" });
  expect(shown({ ...running, platform: "win32" }).details).toContain(NO_WINDOWS);
  expect(shown({ ...running, platform: "darwin" }).details.at(-1)).toContain("untested");
});

/** The commands of the menu in every state. */
const ALWAYS = ["adacoder.openSettings", "workbench.action.openWalkthrough", "extension.open", "adacoder.showLog", "adacoder.restart"];
const commandsOf = (situation: Situation): string[] => menu(situation).map(({ command }) => command);

test("the menu cancels each job and offers the running server's commands", () => {
  const entries = menu({ ...running, jobs: [JOB, FILE] }, [{ label: "Insert", command: "adacoder.insert" }]);
  expect(entries[0]).toMatchObject({ command: "adacoder.server.cancel", arguments: [{ jobId: "1" }] });
  expect(entries[1]?.label).toContain("Cancel generating the stubs of 'a.py'");
  expect(entries[2]?.command).toBe("adacoder.insert");
  expect(commandsOf(running)).toEqual([
    "adacoder.selectModel",
    "adacoder.selectStrategy",
    "adacoder.doctor",
    "adacoder.showJournal",
    ...ALWAYS,
  ]);
  expect(commandsOf({ ...running, hasFile: true }).slice(0, 2)).toEqual(["adacoder.generateAll", "testing.runCurrentFile"]);
});

test("the menu offers remedies if the server is missing", () => {
  const down = { ...running, jobs: [JOB], condition: { kind: "absent", why: "" } } as const;
  expect(commandsOf(down)).toEqual(["adacoder.installServer", ...ALWAYS]);
  expect(commandsOf({ ...down, condition: { kind: "stopped", why: "" } })).not.toContain("adacoder.installServer");
  expect(commandsOf({ ...down, platform: "win32" })).toContain("adacoder.reopenInWsl");
});

test("a message after a crash names the lost jobs and offers to run them again", () => {
  expect(afterCrash([JOB, FILE], false)).toBe(
    "AdaCoder's server crashed while generating 'Box.size' and generating the stubs of 'a.py'. It has restarted.",
  );
  expect(again(JOB)).toMatchObject({
    command: "adacoder.server.generate",
    arguments: [{ uri: "file:///a.py", qualifiedName: "Box.size" }],
  });
  expect(again(FILE)).toMatchObject({ command: "adacoder.server.generateAll", arguments: [{ uri: "file:///a.py" }] });
  expect(again({ ...JOB, mode: "insert" })).toBeUndefined();
  expect(again({ ...FILE, mode: "fixTest" })).toBeUndefined();
});

test("a crash without a lost job is silent, except the fifth", () => {
  expect(afterCrash([], false)).toBeUndefined();
  expect(afterCrash([], true)).toBe(
    "AdaCoder's server crashed for the fifth time. It stays down until you restart it.",
  );
  expect(afterCrash([JOB], true)).toContain("while generating 'Box.size'");
});

test("the doctor's document escapes markup in the findings", () => {
  const document = doctorDocument([
    found("Model", false, "<b>x</b> ![y](z)", { advice: "Do *this*." }),
    found("A", true, "1"),
    found("B", null, "2"),
  ]);
  expect(document).toContain("- ✗ **Model**: \\<b\\>x\\</b\\> \\!\\[y\\](z)  \n  *Do \\*this\\*.*");
  expect(document).toContain("- ✓ **A**: 1");
  expect(document).toContain("- · **B**: 2");
});
