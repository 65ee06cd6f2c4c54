/**
 * The `Idempotency-Key` header field, read and written.
 *
 * draft-ietf-httpapi-idempotency-key-header-07, section 2.1: an Item whose value is a String
 * (RFC 8941, section 3.3.3). Much of the world sends the key bare, so both forms are read as one key.
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/07/
 *
 * @module
 */
import { parseItem, serializeItem } from "structured-headers";

/** The field's name. */
export const keyHeader = "Idempotency-Key";

/** The longest key that is taken, in characters. */
export const maxKeyLength = 255;

/** Which spellings are read: only the draft's quoted String, or the bare key as well. */
export type KeyForms = "quoted" | "quoted-or-bare";

/** What a field's value holds. */
export type ReadKey =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "missing" }
  | { readonly kind: "malformed"; readonly reason: string };

/**
 * Reads the field's value, as `Headers.get` gives it (several fields come joined by commas, and are
 * refused). A key is 1–255 visible ASCII characters; `"abc"` and `abc` are one key. Parameters of the
 * quoted form are ignored. Never throws.
 */
export function readKey(value: string | null, forms: KeyForms = "quoted-or-bare"): ReadKey {
  if (value === null) return { kind: "missing" };
  const quoted = readQuoted(value);
  if (quoted !== undefined) return checkKey(quoted);
  if (forms === "quoted") return malformed('is not a quoted string, as in "8e03978e-40d5"');
  const bare = value.trim();
  if (/[",;\\]/.test(bare)) {
    return malformed(
      "is neither one quoted string nor a bare key without quotes, commas, semicolons and backslashes",
    );
  }
  return checkKey(bare);
}

/** Undefined unless the value is an Item whose value is a String. */
function readQuoted(value: string): string | undefined {
  try {
    const [item] = parseItem(value);
    return typeof item === "string" ? item : undefined;
  } catch {
    // No Item at all: it may still be a bare key.
    return undefined;
  }
}

function checkKey(key: string): ReadKey {
  if (key === "") return malformed("is empty");
  if (key.length > maxKeyLength) return malformed(`has more than ${maxKeyLength} characters`);
  if (!/^[\x21-\x7e]+$/.test(key))
    return malformed("holds a space or a character that isn't visible ASCII");
  return { kind: "key", key };
}

function malformed(reason: string): ReadKey {
  return { kind: "malformed", reason };
}

/** How a client writes its key: bare, as most providers want it, or as the draft's quoted String. */
export type KeyForm = "bare" | "quoted";

/** The field's value for a key of visible ASCII characters. */
export function writeKey(key: string, form: KeyForm): string {
  return form === "bare" ? key : serializeItem(key);
}
