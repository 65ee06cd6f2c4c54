/**
 * A worker's script as one file of plain JavaScript, under `.cache/`: a process that has to load
 * TypeScript takes several times as long to start. Made anew when a source has changed.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, ".cache/workers");
const dayMs = 86_400_000;

const bundles = new Map<string, Promise<string>>();

/**
 * Where the bundle of the script is, whose path is given from `test/`. Several test files may make it
 * at once; the first one to be done wins.
 */
export function bundleWorker(script: string): Promise<string> {
  const bundle = bundles.get(script) ?? findOrMake(script);
  bundles.set(script, bundle);
  return bundle;
}

async function findOrMake(script: string): Promise<string> {
  const folder = join(cache, digestOfSources(script));
  if (!existsSync(folder)) await bundleInto(folder, script);
  return join(folder, "worker.mjs");
}

async function bundleInto(folder: string, script: string): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  const { build } = await import("vite");
  await build({
    configFile: false,
    logLevel: "warn",
    root,
    ssr: { external: ["pg", "better-sqlite3", "canonicalize"] },
    build: {
      ssr: join(root, "test", script),
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
    // Another process may have given its draft the final name by now.
    const made = statSync(old, { throwIfNoEntry: false });
    if (made !== undefined && Date.now() - made.mtimeMs > dayMs)
      rmSync(old, { recursive: true, force: true });
  }
}

function digestOfSources(script: string): string {
  const hash = createHash("sha256").update(script);
  for (const folder of ["src", join("test", dirname(script)), "test/support"]) {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    for (const name of names.filter((one) => one.endsWith(".ts")).toSorted()) {
      hash.update(name).update(readFileSync(join(root, folder, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}
