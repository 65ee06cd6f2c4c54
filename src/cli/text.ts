/**
 * Text for terminals: safe, wrapped, shortened.
 *
 * @module
 */

/**
 * Makes control characters visible, so that a stored text can't move the cursor, colour the screen
 * or forge a line.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const segmenter = new Intl.Segmenter("en");
const wide =
  /[\p{Extended_Pictographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u{ff01}-\u{ff60}]/u;

/** What a reader takes for one character. */
function charactersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** How many columns of a terminal the text takes. */
export function textWidth(text: string): number {
  if (/^\p{ASCII}*$/u.test(text)) return text.length;
  return charactersOf(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}

/** As many characters from the beginning as fit into `width` columns. */
function beginningOf(characters: readonly string[], width: number): string[] {
  const taken: string[] = [];
  let left = width;
  for (const character of characters) {
    left -= textWidth(character);
    if (left < 0) break;
    taken.push(character);
  }
  return taken;
}

/** Shortens to at most `width` columns, the last of them an ellipsis. */
export function shorten(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return `${beginningOf(charactersOf(text), width - 1).join("")}…`;
}

/** Breaks text into lines of at most `width` columns, at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => chunksOf(each, width))) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (textWidth(joined) <= width) {
      line = joined;
      continue;
    }
    lines.push(line);
    line = word;
  }
  return [...lines, line];
}

/** A word that is too long breaks behind punctuation, where that costs no line more. */
function chunksOf(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const parts: string[] = [];
  let rest = charactersOf(word);
  while (textWidth(rest.join("")) > width) {
    const fitting = beginningOf(rest, width);
    const seam = fitting.findLastIndex((character) => /[:/,;&?=-]/.test(character));
    const lines = (columns: number): number => Math.ceil(columns / width);
    const seamIsFree = lines(rest.length - seam - 1) < lines(rest.length);
    const length = Math.max(1, seam >= 0 && seamIsFree ? seam + 1 : fitting.length);
    parts.push(rest.slice(0, length).join(""));
    rest = rest.slice(length);
  }
  return [...parts, rest.join("")];
}

/** `1 operation`, `2 operations`, `1,440 lines`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** The first twelve of a key's 64 digits: enough to name it on the command line. */
export function shortKey(key: string): string {
  return key.slice(0, 12);
}

/** Hashes and UUIDs inside a text, each shortened. */
export function withShortIds(text: string): string {
  return text
    .replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1…")
    .replaceAll(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "$1…");
}
