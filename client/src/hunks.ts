/** The parts of a text that an edit has replaced, here called hunks. Independent of VS Code. */

/** A change of a text, as VS Code reports it: its range is in the text before the change. */
export interface Change {
  readonly rangeOffset: number;
  readonly rangeLength: number;
  readonly text: string;
}

/** A replaced part: its place in the current text, and the text that was there before. */
export interface Hunk {
  readonly offset: number;
  readonly length: number;
  readonly old: string;
}

/** The hunks of changes in the order of the text; undefined if the changes do not turn `before` into `after`. */
export function hunksOf(changes: readonly Change[], before: string, after: string): readonly Hunk[] | undefined {
  const hunks: Hunk[] = [];
  let made = "";
  let end = 0;
  for (const { rangeOffset, rangeLength, text } of [...changes].sort((one, other) => one.rangeOffset - other.rangeOffset)) {
    made += before.slice(end, rangeOffset);
    hunks.push({ offset: made.length, length: text.length, old: before.slice(rangeOffset, rangeOffset + rangeLength) });
    made += text;
    end = rangeOffset + rangeLength;
  }
  return made + before.slice(end) === after ? hunks : undefined;
}

/** The hunks after further changes; undefined if a change touches a hunk. */
export function moved(hunks: readonly Hunk[], changes: readonly Change[]): readonly Hunk[] | undefined {
  const isTouched = hunks.some(({ offset, length }) =>
    changes.some(({ rangeOffset, rangeLength }) => rangeOffset < offset + length && rangeOffset + rangeLength > offset),
  );
  if (isTouched) return undefined;
  return hunks.map((hunk) => {
    const above = changes.filter(({ rangeOffset, rangeLength }) => rangeOffset + rangeLength <= hunk.offset);
    return { ...hunk, offset: hunk.offset + sum(above.map(({ text, rangeLength }) => text.length - rangeLength)) };
  });
}

/** The text as it was before the hunks were inserted. */
export function undone(text: string, hunks: readonly Hunk[]): string {
  return [...hunks].reverse().reduce((now, { offset, length, old }) => now.slice(0, offset) + old + now.slice(offset + length), text);
}

/** Returns true if a hunk inserted an import of a name that other hunks use. */
export function isNeeded(text: string, hunk: Hunk, others: readonly Hunk[]): boolean {
  const [inserted, ...rest] = [hunk, ...others].map(({ offset, length }) => text.slice(offset, offset + length));
  const words = new Set(rest.join("\n").match(WORDS));
  return IMPORT.test(inserted ?? "") && importedBy(inserted ?? "").some((name) => words.has(name));
}

const IMPORT = /^\s*(?:from|import)\s/;
const WORDS = /[\p{L}\p{N}_]+/gu;

/** The names that import statements bind. */
function importedBy(statements: string): string[] {
  const found = statements.replace(/#.*/g, "").matchAll(/\bimport\s+(?:\(([^)]*)\)|(.*))/g);
  const parts = [...found].flatMap(([, inside, after]) => (inside ?? after ?? "").split(","));
  return parts.map((part) => (part.split(/\bas\b/)[1] ?? part.split(".")[0] ?? "").trim());
}

const HEADER = /^([ \t]*)(?:(?:async[ \t]+)?def|class)[ \t]/;

/** The line of the function or class around the longest hunk, else the first line of that hunk. */
export function headerOf(lines: readonly string[], hunks: readonly { readonly first: number; readonly last: number }[]): number {
  const longest = hunks.reduce((one, other) => (other.last - other.first > one.last - one.first ? other : one));
  const isHeader = (line: number, below: number): boolean => (HEADER.exec(lines[line] ?? "")?.[1]?.length ?? below) < below;
  if (isHeader(longest.first, Infinity)) return longest.first;
  const indent = /^[ \t]*/.exec(lines[longest.first] ?? "")?.[0].length ?? 0;
  for (let line = longest.first; line >= 0; line--) if (isHeader(line, indent)) return line;
  return longest.first;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
