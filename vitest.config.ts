import { defineConfig } from "vitest/config";

const full = { branches: 100, functions: 100, lines: 100, statements: 100 };

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
    globalSetup: ["test/support/global-setup.ts"],
    // Generous: a loaded machine is slow, and no test takes its verdict from a clock.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
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
