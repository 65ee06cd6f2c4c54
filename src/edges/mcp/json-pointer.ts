/**
 * JSON Pointer (RFC 6901), read only.
 *
 * @module
 */

/** True for "" and for what begins with a slash and escapes `~` properly. */
export function isPointer(text: string): boolean {
  return /^(\/([^~]|~[01])*)?$/.test(text);
}

/** The value at the pointer, or undefined where there is none. */
export function valueAt(root: unknown, pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  let value = root;
  for (const name of names) {
    if (typeof value !== "object" || value === null) return undefined;
    const member = name.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}
