/**
 * Normalisers that a policy may name: each brings one spelling to one value, and is idempotent.
 *
 * @module
 */
import type { Json } from "../../base/plain-json.ts";
import type { Normaliser } from "../../intent/business-arguments.ts";

const text =
  (change: (value: string) => string): Normaliser =>
  (value) =>
    typeof value === "string" ? change(value) : value;

const normalisers = {
  /** `" 8812 "` → `"8812"` */
  trim: text((value) => value.trim()),
  /** `"Ann  Lee"` → `"Ann Lee"` */
  "single-space": text((value) => value.trim().replaceAll(/\s+/g, " ")),
  "lower-case": text((value) => value.toLowerCase()),
  "upper-case": text((value) => value.toUpperCase()),
  /** `"#88-12"` → `"8812"` */
  digits: text((value) => value.replaceAll(/\D/g, "")),
  /** `"007"` → `"7"`; text stays text and numbers stay numbers. */
  integer: text((value) => value.trim().replace(/^([+-]?)0*(?=\d)/, sign)),
  /** `"480.00"` → `"480"`, `"0480.50"` → `"480.5"` */
  decimal: text(plainDecimal),
} as const satisfies Record<string, Normaliser>;

/** What a policy may write. */
export type NormaliserName = keyof typeof normalisers;

/** All names, for schemas and messages. */
export const normaliserNames = Object.freeze(Object.keys(normalisers)) as readonly NormaliserName[];

/** Applies several in order; `true`, which is "as it is", for none. */
export function normaliserOf(names: readonly NormaliserName[]): Normaliser | true {
  if (names.length === 0) return true;
  return (value: Json) => names.reduce((each, name) => normalisers[name](each), value);
}

function sign(_match: string, mark: string): string {
  return mark === "-" ? "-" : "";
}

function plainDecimal(value: string): string {
  const found = /^([+-]?)0*(\d+)(?:\.(\d*?)0*)?$/.exec(value.trim());
  if (found === null) return value.trim();
  const [, mark = "", whole = "0", rest = ""] = found;
  const number = rest === "" ? whole : `${whole}.${rest}`;
  return mark === "-" && number !== "0" ? `-${number}` : number;
}
