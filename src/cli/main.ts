#!/usr/bin/env node
/**
 * The `nevertwice` binary.
 *
 * @module
 */
import { createRequire } from "node:module";
import { reportFailure } from "./failure.ts";
import { createProgram } from "./program.ts";
import { watchReader } from "./reader-gone.ts";

const args = process.argv.slice(2);

watchReader();

const has = (flag: string): boolean => args.includes(flag);
if (args[0] === "--version" || args[0] === "-V") {
  const require = createRequire(import.meta.url);
  const { version } = require("../../package.json") as { version: string };
  process.stdout.write(`${version}\n`);
} else {
  try {
    await createProgram(has("--json")).parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = reportFailure(error, { json: has("--json"), debug: has("--debug") });
  }
}
