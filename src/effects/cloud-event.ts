/**
 * Events as CloudEvents 1.0 in their JSON format
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { NeverTwiceError, isNeverTwiceError } from "../base/errors.ts";
import { maxIdBytes } from "../intent/intent.ts";

/** A CloudEvent as JSON. Extension attributes stand beside the others. */
export interface CloudEventJson {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  /** RFC 3339. */
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly data?: unknown;
  readonly [extension: string]: unknown;
}

/** What an event is made of. */
export interface EventParts {
  readonly id: unknown;
  readonly source: unknown;
  readonly type: unknown;
  readonly subject?: unknown;
  readonly data?: unknown;
  /** Milliseconds since 1970. */
  readonly atMs?: number | undefined;
  /** Extension attributes: lower-case letters and digits in their names. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/**
 * The event as canonical JSON.
 *
 * @throws {NeverTwiceError} EVENT_INVALID, EVENT_TOO_LARGE.
 */
export function cloudEventText(parts: EventParts, maxBytes: number): string {
  const { id, source, type, subject, data, atMs, extensions } = parts;
  const text = plainText({
    ...extensions,
    specversion: "1.0",
    id: checkedPart(id, "id"),
    source: checkedPart(source, "source"),
    type: checkedPart(type, "type"),
    ...(subject === undefined ? {} : { subject: checkedPart(subject, "subject") }),
    ...(atMs === undefined ? {} : { time: new Date(atMs).toISOString() }),
    ...(data === undefined ? {} : { datacontenttype: "application/json", data }),
  });
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  throw new NeverTwiceError(
    "EVENT_TOO_LARGE",
    `The event ${String(id)} has ${bytes} bytes, and the limit is ${maxBytes}: send a reference to its data. Nothing was written.`,
    { details: { bytes, maxEventBytes: maxBytes } },
  );
}

function plainText(event: Readonly<Record<string, unknown>>): string {
  try {
    return canonicalJson(event);
  } catch (error) {
    if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT")) throw error;
    throw invalidEvent(String(error.details["path"]), String(error.details["reason"]));
  }
}

function checkedPart(value: unknown, part: string): string {
  if (typeof value === "string" && value.trim() !== "" && value.isWellFormed()) {
    if (Buffer.byteLength(value) <= maxIdBytes) return value;
    throw invalidEvent(`\`${part}\``, `longer than ${maxIdBytes} bytes`);
  }
  throw invalidEvent(`\`${part}\``, value === "" ? "empty" : `${typeof value}, or blank`);
}

/** EVENT_INVALID, naming the part and what is wrong with it. */
export function invalidEvent(part: string, reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "EVENT_INVALID",
    `The event can't be written: ${part} is ${reason}. Nothing was written.`,
    { details: { part, reason } },
  );
}
