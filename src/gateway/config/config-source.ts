/**
 * A configuration's text, with the line of every part of it, so that each fault names its place.
 *
 * @module
 */
import { basename } from "node:path";
import {
  type Document,
  LineCounter,
  type Node,
  isMap,
  isPair,
  isScalar,
  parseDocument,
} from "yaml";
import { NeverTwiceError } from "../../base/errors.ts";
import type { Place } from "../../edges/mcp/tool-policy.ts";

/** Names and indexes from the root to a part. */
export type Path = readonly (string | number)[];

/** Something that is wrong with a configuration. */
export interface ConfigFault {
  readonly place: Place;
  readonly message: string;
}

/** A configuration as it was written. */
export class ConfigSource {
  readonly value: unknown;
  readonly faults: ConfigFault[] = [];
  readonly #name: string;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;

  /** @param file Its path; messages name the file without its folder. */
  constructor(file: string, text: string) {
    this.#name = basename(file);
    this.#lines = new LineCounter();
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    for (const error of this.#document.errors) {
      const { line } = this.#lines.linePos(error.pos[0]);
      const message = error.code === "DUPLICATE_KEY" ? twice(text, error.pos) : error.message;
      this.faults.push({ place: `${this.#name}:${line}`, message });
    }
    this.value = this.faults.length === 0 ? (this.#document.toJS() as unknown) : undefined;
  }

  /** The place of a part; of the nearest part around it, where it isn't there. */
  placeOf(path: Path): Place {
    let node: Node | null = this.#document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const name of path) {
      const pair = isMap(node)
        ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
        : undefined;
      const next: unknown =
        pair?.value ??
        (node as { get?: (n: unknown, keep: true) => unknown } | null)?.get?.(name, true);
      const at = isPair(pair) && isScalar(pair.key) ? pair.key.range?.[0] : undefined;
      const start = at ?? (next as Node | undefined)?.range?.[0];
      if (start === undefined) break;
      offset = start;
      node = (next ?? null) as Node | null;
    }
    return `${this.#name}:${this.#lines.linePos(offset).line}`;
  }

  /** Notes a fault at a part. */
  fault(path: Path, message: string): void {
    this.faults.push({ place: this.placeOf(path), message });
  }

  /**
   * Ends when there is a fault.
   *
   * @throws {NeverTwiceError} CONFIGURATION_INVALID with every fault and its line.
   */
  check(): void {
    if (this.faults.length === 0) return;
    const listed = this.faults.map(({ place, message }) => `${place}: ${message}`).join("\n");
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `The configuration can't be used.\n${listed}`,
      { details: { faults: this.faults } },
    );
  }
}

/** Two policies for one tool, say: neither may win silently. */
function twice(text: string, [start]: readonly [number, number]): string {
  const [, name = ""] = /^["']?(.+?)["']?\s*:(?:\s|$)/.exec(text.slice(start)) ?? [];
  return `there is a second ${name} here; leave one of them`;
}
