/**
 * `nevertwice verify` as people run it: on a file in TypeScript and one in JavaScript, with a provider
 * that is a process of its own, on both stores.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, expect, inject, it, onTestFinished } from "vitest";
import { type CheckReport, checkNames, spawnFakeProvider } from "../../src/testing/index.ts";
import { createDatabase } from "../support/postgres-database.ts";
import { type BuiltPackage, buildPackage } from "./built-package.ts";
import { errorOf, runCli, runJson } from "./run-cli.ts";

const tools = fileURLToPath(new URL("../support/verify-tools.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nevertwice-verify-test-"));
let built: BuiltPackage | undefined;
afterAll(() => {
  built?.remove();
  rmSync(folder, { recursive: true, force: true });
});

interface Verified {
  ok: boolean;
  tools: CheckReport[];
}

/** A provider in a process of its own, and the environment that tells of it. */
async function startProvider(): Promise<{ PROVIDER_URL: string }> {
  const provider = await spawnFakeProvider();
  onTestFinished(() => provider.kill());
  return { PROVIDER_URL: provider.url };
}

/** The package, and a JavaScript file that uses it. */
function writeFile(name: string, text: string): { main: string; file: string } {
  const { main } = (built ??= buildPackage({ withDrivers: true }));
  const file = join(folder, name);
  const dist = (path: string): string =>
    JSON.stringify(pathToFileURL(join(main, "../..", path)).href);
  writeFileSync(
    file,
    text
      .replace('"nevertwice/testing"', dist("testing/index.js"))
      .replace('"nevertwice"', dist("index.js")),
  );
  return { main, file };
}

/** A whole check in JavaScript, with the fake provider in the file itself. */
const inFile = `
import { defineTool } from "nevertwice";
import { createProviderClient, startFakeProvider } from "nevertwice/testing";
const provider = await startFakeProvider();
const client = createProviderClient({ url: provider.url });
const schema = { "~standard": { version: 1, vendor: "test", validate: (value) =>
  typeof value.orderId === "string" ? { value } : { issues: [{ message: "must be text", path: ["orderId"] }] } } };
const tool = defineTool({
  name: "issue_refund",
  kind: "non-idempotent",
  arguments: schema,
  intent: ({ args }) => "refund:" + args.orderId,
  businessArguments: ["orderId"],
  contract: { mode: "window", timeoutMs: 5000, flightMs: 5000, key: { shape: "uuid", retentionMs: 86400000, atomic: true, afterError: "replays" } },
  execute: (args, call) => client.createEffect({ operation: "refund", body: args, key: call.wireKey, signal: call.signal }),
});
const check = {
  tool,
  example: (n, id) => ({ args: { orderId: id }, context: { tenant: "acme" } }),
  countEffects: ({ args }) => provider.ledger().filter((row) => row.body.orderId === args.orderId).length,
};
`;

it("a right tool passes, with a worker process that is really killed", async () => {
  const env = await startProvider();
  const ran = await runCli(["verify", tools, "--tool", "issue_refund"], { env });
  expect(ran.stderr).not.toContain("nevertwice:");
  expect(ran.exitCode).toBe(0);
  expect(ran.stdout).toMatch(/^issue_refund: \d+ of 28 checks passed, 0 failed/);
  expect(ran.stdout).toMatch(/^pass +worker-killed +1 +REPLAYED$/m);
  expect(ran.stdout).toMatch(
    /^not checkable: key-after-error\nwhen .*\nfound +give `faults.answer`/m,
  );
  expect(ran.stdout).toContain("No check failed.");
  expect(ran.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
}, 120_000);

it("a wrong tool fails, with exit code 1 and the advice, for machines as well", async () => {
  const env = await startProvider();
  const args = ["verify", tools, "--only", "reworded", "--only", "redelivered"];
  const [forPeople, forMachines] = [await runCli(args, { env }), await runJson(args, { env })];
  expect([forPeople.exitCode, forMachines.exitCode]).toEqual([1, 1]);
  expect(forPeople.stdout).toMatch(/^issue_wordy_refund: 2 of 3 checks passed, 1 failed\.$/m);
  expect(forPeople.stdout).toMatch(/^FAIL: reworded\n/m);
  expect(forPeople.stdout).toMatch(/^change +take reason out of `businessArguments`/m);
  const document = forMachines.document as Verified;
  expect(document.ok).toBe(false);
  expect(document.tools.map(({ tool, ok }) => [tool, ok])).toEqual([
    ["issue_refund", true],
    ["issue_wordy_refund", false],
  ]);
  expect(document.tools[1]?.checks.find(({ name }) => name === "reworded")).toMatchObject({
    verdict: "fail",
    part: "fault",
    effects: 1,
    expectedEffects: [1, 1],
    told: ["EXECUTED", "PAYLOAD_MISMATCH"],
    found: "the free text counts as a business argument: reason",
  });
  expect(forMachines.stderr).toBe("");
}, 120_000);

it.skipIf(inject("postgresUrl") === null)(
  "on PostgreSQL it makes a schema of its own, and leaves none",
  async () => {
    const env = await startProvider();
    const database = await createDatabase(inject("postgresUrl") ?? "");
    const ran = await runJson(
      ["verify", tools, "--tool", "issue_refund", "--store", database.url, "--skip", "two-agents"],
      { env },
    );
    expect(ran.exitCode).toBe(0);
    const [report] = (ran.document as Verified).tools;
    expect(report?.checks.map(({ name }) => name)).toEqual(
      checkNames.filter((name) => name !== "two-agents"),
    );
    expect(report?.checks.find(({ name }) => name === "worker-killed")?.verdict).toBe("pass");
    expect(report?.checks.find(({ name }) => name === "key-retention")?.verdict).toBe("pass");
    const { Client } = (await import("pg")).default;
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query(
      "select 1 from pg_namespace where nspname like 'nevertwice%'",
    );
    await client.end();
    expect(rows).toEqual([]);
  },
  120_000,
);

it("a file in JavaScript, with its provider inside: a default export, ended though a server listens", async () => {
  const { main, file } = writeFile("inside.mjs", `${inFile} export default check;`);
  const temporary = mkdtempSync(join(folder, "temporary-"));
  const ran = await runJson(
    ["verify", file, "--only", "worker-killed", "--only", "reply-dropped"],
    { main, env: { NEVERTWICE_STORE: "postgres://nobody@127.0.0.1:1/none", TMPDIR: temporary } },
  );
  expect(ran.exitCode).toBe(0);
  const [report] = (ran.document as Verified).tools;
  expect(report?.checks.map(({ name, verdict }) => [name, verdict])).toEqual([
    ["baseline", "pass"],
    ["reply-dropped", "pass"],
    ["worker-killed", "not-checkable"],
  ]);
  expect(report?.checks[2]?.found).toContain("the provider lives in the checked file itself");
  expect(readdirSync(temporary)).toEqual([]);
}, 120_000);

it("a check's own store is used; one that no other process can open is said to be so", async () => {
  const { main, file } = writeFile(
    "own-store.mjs",
    `${inFile}
import { temporary } from "./temporary.mjs";
export const checks = [{ ...check, store: temporary, close: () => console.error("closed") }];`,
  );
  const dist = pathToFileURL(join(main, "../../stores/sqlite/index.js")).href;
  const driver = pathToFileURL(
    join(main, "../../../node_modules/better-sqlite3/lib/index.js"),
  ).href;
  writeFileSync(
    join(folder, "temporary.mjs"),
    `import { mkdtempSync } from "node:fs";
import { SqliteStore } from ${JSON.stringify(dist)};
import Database from ${JSON.stringify(driver)};
const file = mkdtempSync(${JSON.stringify(join(folder, "own-"))}) + "/own.sqlite";
export const temporary = async (clock) => {
  const store = new SqliteStore(new Database(file), { clock });
  await store.migrate();
  return store;
};`,
  );
  const ran = await runJson(["verify", file, "--only", "worker-killed", "--only", "worker-dies"], {
    main,
  });
  expect(ran.exitCode).toBe(0);
  const [report] = (ran.document as Verified).tools;
  expect(report?.checks[1]).toMatchObject({ name: "worker-dies", verdict: "pass", effects: 1 });
  expect(report?.checks[2]).toMatchObject({
    name: "worker-killed",
    verdict: "not-checkable",
    found: expect.stringContaining("another one in each process: give --store"),
  });
  expect(ran.stderr).toBe("closed\n");
}, 120_000);

it.each<[string, string, string[], RegExp, string]>([
  ["no such file", "", ["./missing.mjs"], /^There is no file .*missing\.mjs\.$/, "FILE"],
  ["no checks", "export const tools = [];", [], /exports no checks: export `checks`/, "FILE"],
  ["an empty list", "export const checks = [];", [], /exports an empty list/, "FILE"],
  ["not a tool", "export default { tool: {} };", [], /check 1 has no tool: /, "FILE"],
  ["not an object", "export const checks = [3];", [], /check 1 is no object/, "FILE"],
  [
    "a file that breaks",
    'throw new Error("no fixtures");',
    [],
    /can't be loaded: no fixtures\.$/,
    "FILE",
  ],
  [
    "no such tool",
    `${inFile} export default check;`,
    ["--tool", "x"],
    /checks no tool x; it checks issue_refund\.$/,
    "USAGE",
  ],
  [
    "no such check",
    `${inFile} export default check;`,
    ["--only", "x"],
    /There is no check x/,
    "USAGE",
  ],
  [
    "a schema",
    `${inFile} export default check;`,
    ["--schema", "x"],
    /--schema is not for it/,
    "USAGE",
  ],
  [
    "an example that doesn't fit",
    `${inFile} export default { ...check, example: () => ({ args: { orderId: 8812 }, context: { tenant: "acme" } }) };`,
    [],
    /the example is not a valid call: .*\$\.orderId: must be text/,
    "CONFIGURATION_INVALID",
  ],
  [
    "a probe that breaks",
    `${inFile} export default { ...check, countEffects: () => { throw new Error("401") } };`,
    [],
    /`countEffects` failed: 401/,
    "CONFIGURATION_INVALID",
  ],
  [
    "no probe",
    `${inFile} export default { tool, example: check.example };`,
    [],
    /`countEffects` must be a function/,
    "CONFIGURATION_INVALID",
  ],
])(
  "%s: says so, with exit code 2",
  async (title, text, args, message, code) => {
    const { main, file } = writeFile(`${title.replaceAll(/\W/g, "-")}.mjs`, text);
    const [first, ...others] = args;
    const target = first?.startsWith("./") === true ? [first, ...others] : [file, ...args];
    const ran = await runJson(["verify", ...target], { main });
    expect(ran.exitCode).toBe(2);
    expect(errorOf(ran)).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(ran.stdout).toBe("");
  },
  60_000,
);

it("TypeScript without tsx: says what to install, where Node can't load it", async () => {
  const { main, file } = writeFile("lonely.ts", "export const checks: unknown[] = [];");
  const ran = await runJson(["verify", file], { main });
  expect(ran.exitCode).toBe(2);
  const stripsTypes = Boolean((process.features as { typescript?: unknown }).typescript);
  expect(errorOf(ran)).toMatchObject({
    code: "FILE",
    message: expect.stringMatching(
      stripsTypes ? /empty list/ : /is TypeScript.*npm install --save-dev tsx/,
    ),
  });
});

it("help shows an example and every check", async () => {
  const ran = await runCli(["verify", "--help"]);
  expect(ran.exitCode).toBe(0);
  expect(ran.stdout).toContain("$ nevertwice verify ./tools.ts");
  for (const name of checkNames) expect(ran.stdout).toContain(name);
});
