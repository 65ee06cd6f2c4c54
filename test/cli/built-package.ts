/**
 * The package as npm would install it: JavaScript in `dist`, dependencies beside it. Only translated,
 * not type-checked, so that it takes a second.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import packageJson from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../..", import.meta.url));
const drivers = [
  "better-sqlite3",
  "pg",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/node",
  "@modelcontextprotocol/server",
];

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

/** A built package: its main file, and how to get rid of it. */
export interface BuiltPackage {
  readonly main: string;
  readonly remove: () => void;
}

/** Builds the package in a folder of its own. */
export function buildPackage({ withDrivers }: { withDrivers: boolean }): BuiltPackage {
  const home = mkdtempSync(join(tmpdir(), "nevertwice-package-"));
  cpSync(join(root, "package.json"), join(home, "package.json"));
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  for (const source of sources.filter((name) => name.endsWith(".ts"))) {
    const text = readFileSync(join(root, "src", source), "utf8");
    const { outputText } = ts.transpileModule(text, { compilerOptions: options });
    const target = join(home, "dist", source.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
  }
  for (const name of [...Object.keys(packageJson.dependencies), ...(withDrivers ? drivers : [])]) {
    const link = join(home, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    // Node looks for a package's own dependencies where it really is.
    symlinkSync(realpathSync(join(root, "node_modules", name)), link);
  }
  return {
    main: join(home, "dist", "cli", "main.js"),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
