import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const full = { branches: 100, functions: 100, lines: 100, statements: 100 };

const heavy = ["crash", "failover", "model", "simulation"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));

export default defineConfig({
  // Examples import what users import.
  resolve: {
    alias: [
      { find: /^nevertwice$/, replacement: source("index.ts") },
      { find: /^nevertwice\/(sqlite|postgres)$/, replacement: source("stores/$1/index.ts") },
      { find: /^nevertwice\/providers\/([\w-]+)$/, replacement: source("edges/providers/$1.ts") },
      { find: /^nevertwice\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Generous: a loaded machine is slow, and no test takes its verdict from a clock.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: "forks",
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: "main",
          include: ["test/**/*.test.ts"],
          exclude: heavy,
          typecheck: {
            enabled: true,
            include: ["test/**/*.test-d.ts"],
            tsconfig: "./tsconfig.json",
          },
          sequence: { groupOrder: 1 },
        },
      },
      // Each keeps both cores busy by itself, so they run one after another.
      {
        extends: true,
        test: { name: "heavy", include: heavy, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
    reporters: ["default"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["**/*.generated.ts"],
      thresholds: {
        "src/base/**": full,
        "src/intent/**": full,
        "src/ledger/**": full,
        "src/guard/**": full,
      },
    },
  },
});
