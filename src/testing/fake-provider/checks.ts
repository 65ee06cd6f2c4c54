/** True for `true` or `false`. */
export function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

/** True for a finite number of milliseconds that isn't negative. */
export function isDuration(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** True for text that isn't empty. */
export function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** Makes a check that is true for exactly the values listed. */
export function oneOf(...allowed: readonly unknown[]): (value: unknown) => boolean {
  return (value) => allowed.includes(value);
}
