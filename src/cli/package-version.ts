/**
 * The version of this package.
 *
 * @module
 */
import { createRequire } from "node:module";

/** As in package.json. */
export function packageVersion(): string {
  const require = createRequire(import.meta.url);
  return (require("../../package.json") as { version: string }).version;
}
