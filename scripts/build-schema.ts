/**
 * Writes docs/reference/nevertwice.schema.json from the schema that configurations are checked
 * against, for editors. A test holds the two equal.
 */
import { writeFileSync } from "node:fs";
import { format } from "prettier";
import { configSchema } from "../src/gateway/config/config-schema.ts";

const target = new URL("../docs/reference/nevertwice.schema.json", import.meta.url);
writeFileSync(
  target,
  await format(JSON.stringify(configSchema), { parser: "json", printWidth: 100 }),
);
