/** The layout of a growing reply: a column at the right of the function's header and docstring. Independent of VS Code. */

/** Parameters of the notification `adacoder/writing`. */
export interface Writing {
  readonly jobId: string;
  readonly uri: string;
  /** The version of the text to which the lines belong. */
  readonly version: number | null;
  /** The line of the function's header, and the line in which its docstring ends. */
  readonly first: number;
  readonly last: number;
  /** The state of the job, such as `round 1/6 · writing`. */
  readonly message?: string;
  /** The last lines of the reply. */
  readonly lines?: readonly string[];
  /** True at the end of the job. */
  readonly ended?: boolean;
}

const GAP = 4;
const LONGEST = 100;
/** A space that VS Code does not collapse. */
const SPACE = "\u00a0";

/**
 * A text for each line of the function, with its column. The first text is the state of the job, and the others are the
 * last lines that the model wrote.
 */
export function rows(
  lines: readonly string[],
  { message = "", lines: written = [] }: Writing,
  tabSize: number,
): { readonly text: string; readonly columns: number }[] {
  const shown = written.filter((line) => line.trim() !== "").slice(-Math.max(lines.length - 1, 1));
  const texts = lines.length === 1 ? [[message, ...shown.map((line) => line.trim())].join("  ")] : [message, ...shown];
  const widths = lines.map((line) => widthOf(line, tabSize));
  const width = Math.max(...widths.slice(0, texts.length));
  return texts.map((text, index) => ({
    text: text.slice(0, LONGEST).replaceAll("\t", SPACE.repeat(tabSize)).replaceAll(" ", SPACE),
    columns: width - (widths[index] ?? 0) + GAP,
  }));
}

function widthOf(line: string, tabSize: number): number {
  let width = 0;
  for (const character of line) width += character === "\t" ? tabSize - (width % tabSize) : 1;
  return width;
}
