/**
 * Where commands print: tables and sentences for people, one JSON document for machines. Data goes
 * to standard output; progress and errors go to standard error.
 *
 * @module
 */
import Table from "cli-table3";
import pc from "picocolors";
import { printable, shorten, textWidth, wrap } from "./text.ts";

/** The few colours that are used, each a function that may do nothing. */
export type Colours = ReturnType<typeof pc.createColors>;

/** A column of a table. */
export interface Column {
  readonly head: string;
  readonly align?: "left" | "right";
  /** What to do where the screen is too narrow: cut the text, or wrap it. Default: leave it. */
  readonly narrow?: "shorten" | "wrap";
  /** Colours a cell. */
  readonly paint?: (cell: string, colours: Colours) => string;
}

/** A fact: name and value. */
export type Fact = readonly [name: string, value: string | null];

/** Widest text for people: longer lines are hard to read. */
const widest = 120;
const gap = "  ";

/** Printing, as this terminal and the options want it. */
export class Output {
  readonly json: boolean;
  readonly width: number;
  readonly colours: Colours;
  readonly #out: NodeJS.WriteStream;

  constructor(options: { json: boolean }) {
    this.json = options.json;
    this.#out = process.stdout;
    this.width = Math.min(columnsOf(this.#out), widest);
    this.colours = pc.createColors(mayColour(this.#out));
  }

  /** Prints the whole result for a machine. */
  document(value: unknown): void {
    this.#out.write(`${JSON.stringify(value, null, 2)}\n`);
  }

  /** Prints one line as it is. */
  line(text = ""): void {
    this.#out.write(`${text}\n`);
  }

  /** Prints sentences, wrapped to the screen. */
  text(text: string): void {
    for (const line of wrap(text, this.width)) this.line(line);
  }

  /** Prints names and values in two columns; what is null is left out. */
  facts(facts: readonly Fact[]): void {
    const told = facts.filter(([, value]) => value !== null);
    const nameWidth = Math.max(...told.map(([name]) => textWidth(name)));
    for (const [name, value] of told) {
      const lines = wrap(printable(value ?? ""), Math.max(20, this.width - nameWidth - gap.length));
      for (const [index, line] of lines.entries()) {
        const label = (index === 0 ? name : "").padEnd(nameWidth);
        this.line(`${this.colours.dim(label)}${gap}${line}`);
      }
    }
  }

  /** Prints a table that fits the screen. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[], indent = 0): void {
    const cells = rows.map((row) => row.map(printable));
    const widths = fit(columns, cells, this.width - indent);
    const table = new Table({
      head: columns.map(({ head }) => this.colours.dim(head)),
      colAligns: columns.map(({ align = "left" }) => align),
      colWidths: [...widths],
      chars: tableChars,
      style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 0 },
    });
    for (const row of cells) {
      table.push(row.map((cell, at) => this.#fitCell(columns[at], widths[at], cell)));
    }
    const margin = " ".repeat(indent);
    for (const line of table.toString().split("\n")) this.line(`${margin}${line.trimEnd()}`);
  }

  #fitCell(column: Column | undefined, width = 0, cell: string): string {
    const fitted = column?.narrow === "wrap" ? wrap(cell, width).join("\n") : shorten(cell, width);
    return column?.paint?.(fitted, this.colours) ?? fitted;
  }
}

const tableChars = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  right: "",
  "right-mid": "",
  mid: "─",
  "mid-mid": gap,
  middle: gap,
};

/** Natural widths, then the widest of the columns that may give way gives way. */
function fit(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly number[] {
  const widths = columns.map(({ head }, at) =>
    rows.reduce((most, row) => Math.max(most, textWidth(row[at] ?? "")), textWidth(head)),
  );
  const available = width - gap.length * (columns.length - 1);
  const least = columns.map(({ head, narrow }, at) =>
    narrow === undefined ? (widths[at] ?? 0) : Math.max(textWidth(head), 6),
  );
  const total = (): number => widths.reduce((sum, each) => sum + each, 0);
  while (total() > available) {
    const room = widths.map((each, at) => (each > (least[at] ?? 0) ? each : 0));
    const most = Math.max(...room);
    if (most === 0) break;
    widths[room.indexOf(most)] = most - 1;
  }
  return widths;
}

function columnsOf(stream: NodeJS.WriteStream): number {
  if (stream.isTTY && stream.columns > 0) return Math.max(40, stream.columns);
  const given = Number(process.env["COLUMNS"]);
  return Number.isInteger(given) && given >= 40 ? given : widest;
}

function mayColour(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, TERM } = process.env;
  // A pipe has no such property; undefined would make picocolors look at CI and FORCE_COLOR.
  const onScreen = (stream.isTTY as boolean | undefined) === true;
  return onScreen && (NO_COLOR ?? "") === "" && TERM !== "dumb";
}

/** Writes and waits while the reader is slower than we are. */
export function writeSlowly(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(error);
    stream.once("error", failed);
    const done = (): void => {
      stream.off("error", failed);
      resolve();
    };
    if (stream.write(text)) done();
    else stream.once("drain", done);
  });
}
