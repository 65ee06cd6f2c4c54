/**
 * Messages of a broker that are no events: what is kept of one, so that a person can see what came
 * and it may be acknowledged.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { storableText } from "../base/errors.ts";

/** A message that can't be received as an event. */
export interface RejectedMessage {
  /** Whose it is, where the message or the consumer says so. */
  readonly tenant: string | undefined;
  readonly consumer: string;
  /** Where it came from, e.g. `rabbitmq:orders`. */
  readonly source: string;
  readonly body: Uint8Array;
  /** What the broker tells of it. Give names that can't hold a secret. */
  readonly properties: Readonly<Record<string, string>>;
  /** Why it is no event. */
  readonly error: unknown;
}

/** The tenant of messages that name none. */
export const noTenant = "(no tenant)";

/** Of a rejected message, as JSON in `raw`. */
export interface KeptMessage {
  /** The whole body's, in bytes. */
  readonly bytes: number;
  /** True where `body` is the beginning only. */
  readonly cut: boolean;
  /** `base64` where it is no UTF-8. */
  readonly encoding: "utf8" | "base64";
  readonly body: string;
  readonly properties: Readonly<Record<string, string>>;
}

const maxPropertyLength = 256;

/** An id that is the same whenever the same bytes come. */
export function idOfMessage(body: Uint8Array): string {
  return `sha256-${createHash("sha256").update(body).digest("hex")}`;
}

/** What is kept: at most so many bytes of the body, and the properties, each shortened. */
export function keptMessage(
  { body, properties }: Pick<RejectedMessage, "body" | "properties">,
  maxBytes: number,
): KeptMessage {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  const kept = Object.entries(properties).map(([name, value]) => [
    name,
    storableText(value.slice(0, maxPropertyLength)),
  ]);
  return {
    bytes: bytes.length,
    cut: bytes.length > maxBytes,
    encoding,
    // A character that is cut in two becomes U+FFFD.
    body: bytes.subarray(0, maxBytes).toString(encoding),
    properties: Object.fromEntries(kept) as Record<string, string>,
  };
}
