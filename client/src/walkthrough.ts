/** The buttons of the walkthrough, on a sample file. */

import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Range, Selection, commands, window, workspace, type Disposable, type ExtensionContext } from "vscode";

const SAMPLE = "first_steps.py";
/** The buttons, each with its function and its action there. */
const STEPS: readonly (readonly [command: string, header: string, act: string])[] = [
  ["adacoder.walkthrough.generate", "def initials(", "adacoder.generateFunction"],
  ["adacoder.walkthrough.fix", "def circle_area(", "adacoder.fix"],
  ["adacoder.walkthrough.check", "def grade(", "adacoder.checkExamples"],
];

export function registerWalkthrough(context: ExtensionContext): Disposable[] {
  return STEPS.map(([command, header, act]) =>
    commands.registerCommand(command, async () => {
      await openAt(context, header);
      await commands.executeCommand(act);
    }),
  );
}

/** Opens the user's copy of the sample next to the walkthrough, with the cursor in a function. */
async function openAt(context: ExtensionContext, header: string): Promise<void> {
  const folder = join(context.globalStorageUri.fsPath, "sample");
  const file = join(folder, SAMPLE);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(context.extensionPath, "media", SAMPLE), file);
  }
  const document = await workspace.openTextDocument(file);
  const start = document.positionAt(Math.max(document.getText().indexOf(header), 0));
  const editor = await window.showTextDocument(document, { selection: new Selection(start, start), preview: false });
  editor.revealRange(new Range(start, start));
}
