/**
 * The worker as one file of plain JavaScript, under `.cache/`: a process that has to load TypeScript
 * takes several times as long to start. Made anew when a source has changed.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, ".cache/crash");
const dayMs = 86_400_000;

let bundled: Promise<string> | undefined;

/** Where the bundle is. Several test files may make it at once; the first one to be done wins. */
export function bundleWorker(): Promise<string> {
  bundled ??= findOrMake();
  return bundled;
}

async function findOrMake(): Promise<string> {
  const folder = join(cache, digestOfSources());
  if (!existsSync(folder)) await bundleInto(folder);
  return join(folder, "worker.mjs");
}

async function bundleInto(folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  const { build } = await import("vite");
  await build({
    configFile: false,
    logLevel: "warn",
    root,
    ssr: { external: ["pg", "better-sqlite3", "canonicalize"] },
    build: {
      ssr: join(root, "test/crash/worker.ts"),
      outDir: draft,
      target: "node20",
      minify: false,
      // The package says that its modules have no side effects; a worker's first line is one.
      rolldownOptions: { treeshake: false, output: { entryFileNames: "worker.mjs" } },
    },
  });
  removeOldOnes();
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(draft, { recursive: true });
  }
}

function removeOldOnes(): void {
  for (const name of readdirSync(cache)) {
    const old = join(cache, name);
    if (Date.now() - statSync(old).mtimeMs > dayMs) rmSync(old, { recursive: true, force: true });
  }
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  for (const folder of ["src", "test/crash", "test/support"]) {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    for (const name of names.filter((one) => one.endsWith(".ts")).toSorted()) {
      hash.update(name).update(readFileSync(join(root, folder, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}
