"use strict";
// Shows the cells that match the filters. Every text from models and tasks becomes a text node, never markup.
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

function verdict(row) {
  if (row.right === "wrong" && row.status === "verified") return ["verified but wrong", "doubtful"];
  return [row.right, row.right === "not judged" ? "" : row.right];
}

function cell(row) {
  const details = element("details");
  const summary = element("summary");
  const sample = row.sample ? ` · sample ${row.sample}` : "";
  summary.append(element("span", row.task), element("span", `${row.model} · ${row.strategy}${sample}`));
  const [word, style] = verdict(row);
  if (style !== "doubtful") summary.append(element("span", row.status));
  summary.append(element("span", word, style));
  details.append(summary);
  details.addEventListener("toggle", () => details.append(...facts(row)), { once: true });
  return details;
}

function counted(number, name) {
  return `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
}

function facts(row) {
  const { prompt, completion } = row.tokens;
  const spent = [counted(row.rounds, "round"), counted(row.calls, "call"), `${counted(prompt, "token")} read`];
  spent.push(`${counted(completion, "token")} written`, `${row.seconds.toFixed(1)} s`);
  const parts = [element("p", spent.join(", "))];
  if (row.reason) parts.push(element("p", row.reason));
  if (row.attempts.length) parts.push(element("h4", "Programs"), attempts(row));
  if (row.candidate) parts.push(element("h4", "Candidate"), element("pre", row.candidate));
  if (row.journal) parts.push(element("h4", "Journal"), journal(row.journal));
  return parts;
}

function attempts(row) {
  const table = element("table");
  const lines = row.attempts.map((tried) => {
    const judged = tried.right === null ? "not judged" : tried.right ? "right" : "wrong";
    const made = (tried.repaired ? `rules ${tried.rules.join(", ")}` : tried.agent).replaceAll("_", " ");
    const shown = [`round ${tried.round}`, made, (tried.failure || "passed").replaceAll("_", " ")];
    const line = element("tr");
    line.append(...[...shown, `${tried.examples.join("/")} examples`].map((text) => element("td", text)));
    line.append(element("td", judged, tried.right === null ? "" : judged));
    return line;
  });
  const scroller = element("div", undefined, "wide");
  table.append(...lines);
  scroller.append(table);
  return scroller;
}

// Returns the text of a line of Markdown, without its marks.
function plain(line) {
  const bare = line.replace(/^\* /, "• ").replace(/^(\*{1,2})([^*]+)\1(\.?)$/, "$2$3");
  return bare.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

// Shows a journal. Its Markdown has only headings, fences and paragraphs.
function journal(text) {
  const found = element("div", undefined, "journal");
  let fence = null;
  let block = [];
  const end = (name) => {
    const said = block.join("\n");
    if (said.trim() || name === "pre") found.append(element(name, name === "pre" ? said : said.trim()));
    block = [];
  };
  for (const line of text.split("\n")) {
    const mark = line.match(/^\s*(`{3,}|~{3,})/);
    const heading = line.match(/^#{1,6} (.*)/);
    if (fence ? line.trim() === fence : mark) {
      end(fence ? "pre" : "p");
      fence = fence ? null : mark[1];
    } else if (!fence && heading) {
      end("p");
      found.append(element("h4", plain(heading[1])));
    } else if (!fence && !line.trim()) end("p");
    else block.push(fence ? line : plain(line));
  }
  end(fence ? "pre" : "p");
  return found;
}

more.addEventListener("click", extend);
filter();
