/**
 * A folder for programs that a test writes and runs. It is inside the repository, so that the packages
 * they import are found, and yet where neither the compiler nor the tidy test looks: they read the
 * sources while other tests run, and must not meet files that come and go.
 */
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const place = fileURLToPath(new URL("../../.cache/programs/", import.meta.url));

/** Makes a new folder; whoever asks for it removes it. */
export function programFolder(prefix: string): string {
  mkdirSync(place, { recursive: true });
  return mkdtempSync(join(place, `${prefix}-`));
}
