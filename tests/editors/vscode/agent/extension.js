// Asks which tool to call with what, calls it, and shows what it returns.
const { commands, lm, window } = require("vscode");

async function call() {
  const { name, input } = JSON.parse(await window.showInputBox());
  try {
    const { content } = await lm.invokeTool(name, { input, toolInvocationToken: undefined });
    void window.showInformationMessage(`Agent: ${content.map(({ value }) => value).join(" ")}`);
  } catch (error) {
    void window.showInformationMessage(`Agent: ${String(error)}`);
  }
}

exports.activate = ({ subscriptions }) => subscriptions.push(commands.registerCommand("agent.call", call));
