"use strict";
// Shows the cells that the filters leave. Every text becomes a text node: nothing of a model's or a task's is markup.
const rows = JSON.parse(document.getElementById("rows").textContent);
const members = JSON.parse(document.getElementById("by").textContent);
const form = document.getElementById("filters");
const cells = document.getElementById("cells");
const count = document.getElementById("count");
const more = document.getElementById("more");
const page = 200;
let found = [];
let shown = 0;

function element(name, text, style) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (style) made.className = style;
  return made;
}

function labelled(name, control) {
  const label = element("label", name);
  label.append(control);
  form.append(label);
  control.addEventListener("input", filter);
  return control;
}

const choices = members.map((member) => {
  const select = labelled(member, element("select"));
  const values = [...new Set(rows.map((row) => row[member]))].sort();
  select.append(new Option("all", ""), ...values.map((value) => new Option(value, `=${value}`)));
  return [member, select];
});
const search = labelled("task", element("input"));
form.addEventListener("submit", (event) => event.preventDefault());

function filter() {
  const wanted = search.value.toLowerCase();
  found = rows.filter(
    (row) =>
      row.task.toLowerCase().includes(wanted) &&
      choices.every(([member, select]) => select.value === "" || select.value === `=${row[member]}`),
  );
  const right = found.filter((row) => row.right === "right").length;
  const wrong = found.filter((row) => row.right === "wrong" && row.status === "verified").length;
  count.textContent = `${found.length} of ${rows.length} cells: ${right} right, ${wrong} verified but wrong`;
  cells.replaceChildren();
  shown = 0;
  extend();
}

function extend() {
  cells.append(...found.slice(shown, shown + page).map(cell));
  shown = Math.min(shown + page, found.length);
  more.hidden = shown >= found.length;
}

function cell(row) {
  const details = element("details");
  const named = [row.task, row.model, row.strategy, `sample ${row.sample}`, row.status, row.right].join(" · ");
  details.append(element("summary", named, row.right === "not judged" ? "" : row.right));
  details.addEventListener("toggle", () => details.childElementCount > 1 || details.append(...facts(row)), {
    once: true,
  });
  return details;
}

function facts(row) {
  const tokens = row.tokens;
  const spent = `${row.rounds} rounds, ${row.calls} calls, ${tokens.prompt} tokens read, ${tokens.completion} written`;
  const parts = [element("p", `${spent}, ${row.seconds.toFixed(1)} s`)];
  if (row.reason) parts.push(element("p", row.reason));
  for (const tried of row.attempts) {
    const [passed, of] = tried.examples;
    const judged = tried.right === null ? "not judged" : tried.right ? "right" : "wrong";
    const made = tried.repaired ? `rules ${tried.rules.join(", ")}` : tried.agent;
    const failed = tried.failure || "passed";
    parts.push(element("p", `round ${tried.round}: ${made}: ${failed}, ${passed}/${of} examples, ${judged}`));
  }
  for (const [name, text] of [["Candidate", row.candidate], ["Journal", row.journal]])
    if (text) parts.push(element("h4", name), element("pre", text));
  return parts;
}

more.addEventListener("click", extend);
filter();
