/**
 * The key in the shape that a provider accepts. It is a projection: the stored key stays the same.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";

/**
 * `hex` 64 characters, `base64url` 43, `uuid` 36, `uuid-bare` 32 (a UUID without dashes). UUID shapes
 * keep 122 bits of the hash.
 */
export type WireKeyShape = "hex" | "base64url" | "uuid" | "uuid-bare";

/** Characters in a wire key of this shape. */
export const wireKeyLengths: Readonly<Record<WireKeyShape, number>> = Object.freeze({
  hex: 64,
  base64url: 43,
  uuid: 36,
  "uuid-bare": 32,
});

/** What a wire key depends on beside the key. */
export interface WireKeyOptions {
  readonly shape: WireKeyShape;
  /** Version nibble of the UUID shapes. 5 says what it is (a hash); some validators take only 4. */
  readonly uuidVersion?: 4 | 5 | 8 | undefined;
  /** Raised when absence was proved and a fresh provider key is needed (R21). */
  readonly generation?: number | undefined;
  /** The provider's account: two accounts must not see one and the same key. */
  readonly account?: string | undefined;
}

/** Projects a key (64 hex digits) to the wire. Equal input gives equal output, for ever. */
export function wireKeyOf(key: string, options: WireKeyOptions): string {
  const { shape, uuidVersion = 5, generation = 0, account } = options;
  const plain = generation === 0 && account === undefined;
  const hex = plain
    ? key
    : sha256Hex(
        canonicalJson({ v: 1, key, generation, ...(account === undefined ? {} : { account }) }),
      );
  if (shape === "hex") return hex;
  if (shape === "base64url") return Buffer.from(hex, "hex").toString("base64url");
  const bare = uuidDigits(hex, uuidVersion);
  return shape === "uuid-bare"
    ? bare
    : bare.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function uuidDigits(hex: string, version: number): string {
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0b0011) | 0b1000).toString(16);
  return `${hex.slice(0, 12)}${version}${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`;
}
