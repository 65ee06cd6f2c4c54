/**
 * Templates of a policy: text with places in braces, such as `refund:{args.order_id}`. Places name
 * arguments and what the orchestrator vouches for; there is no logic in them.
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import { checkedText } from "../../intent/intent.ts";

/** A template, taken apart. */
export interface Template {
  readonly text: string;
  readonly parts: readonly TemplatePart[];
}

type TemplatePart = { readonly literal: string } | { readonly place: string };

/** Where values come from: `args.order_id` is member `order_id` of `args`. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** The fault of a template, in words that continue "The template …". */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/**
 * Takes a template apart.
 *
 * @throws {TemplateFault} for a brace without its partner and a place without a name.
 */
export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  const places = /\{([^{}]*)\}/g;
  let end = 0;
  const literal = (piece: string): void => {
    if (/[{}]/.test(piece)) throw new TemplateFault("has a brace without its partner");
    if (piece !== "") parts.push({ literal: piece });
  };
  for (const found of text.matchAll(places)) {
    const place = found[1] ?? "";
    literal(text.slice(end, found.index));
    if (!/^[A-Za-z]\w*(\.[\w$-]+)*$/.test(place)) {
      throw new TemplateFault(`has the place {${place}}, which names nothing`);
    }
    parts.push({ place });
    end = found.index + found[0].length;
  }
  literal(text.slice(end));
  return { text, parts };
}

/** The places in a template. */
export function placesOf(template: Template): readonly string[] {
  return template.parts.flatMap((part) => ("place" in part ? [part.place] : []));
}

/** The arguments that a template names. */
export function argumentsOf(template: Template): readonly string[] {
  return placesOf(template)
    .filter((place) => place.startsWith("args."))
    .map((place) => place.slice("args.".length));
}

/**
 * Checks that two different sets of values can't give one and the same text: between two places
 * there must be a character that values never hold, once they are escaped (R1).
 *
 * @throws {TemplateFault} naming the two places.
 */
export function checkSeparated(template: Template): void {
  const { parts } = template;
  if (placesOf(template).length === 0) {
    throw new TemplateFault("names no argument and no trusted id, so every call would be the same");
  }
  for (const [index, part] of parts.entries()) {
    if (!("place" in part)) continue;
    const next = parts[index + 1];
    if (next === undefined) continue;
    const separated = "literal" in next && escaped(next.literal) !== next.literal;
    const last = index + 2 >= parts.length;
    if (separated || ("literal" in next && last)) continue;
    throw new TemplateFault(
      `needs a separator such as ":" behind {${part.place}}: without one, two different intents could read the same`,
    );
  }
}

/**
 * The intent that a template gives. Values are checked as ids, and escaped so that none of them can
 * pass for a separator.
 *
 * @throws {NeverTwiceError} INTENT_INVALID naming the place that has no value.
 */
export function renderIntent(template: Template, values: TemplateValues): string {
  return template.parts
    .map((part) => ("literal" in part ? part.literal : escaped(idAt(values, part.place))))
    .join("");
}

/** The value of a template: that of its only place as it is, or text. Undefined if a place has none. */
export function renderValue(template: Template, values: TemplateValues): unknown {
  const [only, ...more] = template.parts;
  if (only !== undefined && "place" in only && more.length === 0) return at(values, only.place);
  const texts = template.parts.map((part) =>
    "literal" in part ? part.literal : scalarText(at(values, part.place)),
  );
  return texts.includes(undefined) ? undefined : texts.join("");
}

function escaped(text: string): string {
  return encodeURIComponent(text);
}

function idAt(values: TemplateValues, place: string): string {
  const text = scalarText(at(values, place));
  if (text === undefined) throw missing(place);
  return checkedText(text, place);
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function missing(place: string): NeverTwiceError {
  return new NeverTwiceError(
    "INTENT_INVALID",
    `The identity of this operation is incomplete: ${place} is missing or no single value. Nothing was recorded and nothing was sent.`,
    { details: { part: place, reason: "is missing or no single value" } },
  );
}

function at(values: TemplateValues, place: string): unknown {
  let value: unknown = values;
  for (const name of place.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
