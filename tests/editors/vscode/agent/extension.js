// Asks which tool to call with what, calls it, and shows what it returns. Lists a test as the Python extension does.
const { Range, Uri, commands, lm, tests, window } = require("vscode");

async function call() {
  const { name, input } = JSON.parse(await window.showInputBox());
  try {
    const { content } = await lm.invokeTool(name, { input, toolInvocationToken: undefined });
    void window.showInformationMessage(`Agent: ${content.map(({ value }) => value).join(" ")}`);
  } catch (error) {
    void window.showInformationMessage(`Agent: ${String(error)}`);
  }
}

let controller;

async function list() {
  const { path, name, line } = JSON.parse(await window.showInputBox());
  controller ??= tests.createTestController("python-tests", "Python Tests");
  const item = controller.createTestItem(`${path}::${name}`, name, Uri.file(path));
  item.range = new Range(line, 0, line, 0);
  controller.items.replace([item]);
}

exports.activate = ({ subscriptions }) =>
  subscriptions.push(commands.registerCommand("agent.call", call), commands.registerCommand("agent.list", list));
