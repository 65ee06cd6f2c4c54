/**
 * `providers list`, `providers show`, and what doctor says of contracts: for people and for machines.
 */
import { expect, it } from "vitest";
import { providerFacts, providerFindings } from "../../src/cli/provider-view.ts";
import { providerContracts } from "../../src/edges/providers/index.ts";
import { days } from "../../src/index.ts";
import { openSqlite } from "../support/stores.ts";
import { runCli, runJson, storeArgs } from "./run-cli.ts";

it("lists every contract, with the mode that follows from it", async () => {
  const { exitCode, document } = await runJson(["providers", "list"]);
  const { providers } = document as { providers: { name: string; mode: string }[] };
  expect(exitCode).toBe(0);
  expect(providers.map(({ name }) => name)).toEqual(providerContracts.map(({ name }) => name));
  expect(providers.find(({ name }) => name === "stripe")?.mode).toBe("window");

  const { stdout } = await runCli(["providers", "list"]);
  for (const { name } of providerContracts) expect(stdout).toContain(name);
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
});

it("shows one contract with its sources, and marks what is in doubt", async () => {
  const { stdout, exitCode } = await runCli(["providers", "show", "adyen"]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/Kept +7 d\n/);
  expect(stdout).toMatch(/In flight +409, 704, perhaps 422 \(\?\)/);
  expect(stdout).toContain("https://docs.adyen.com/development-resources/api-idempotency");
  const { document } = await runJson(["providers", "show", "adyen"]);
  expect(document).toMatchObject({ name: "adyen", mode: "strict", key: { maxLength: 64 } });
  const machine = document as { stale: boolean };
  expect(typeof machine.stale).toBe("boolean");
});

it("refuses a name that isn't there, and names those that are alike", async () => {
  const { exitCode, stderr } = await runCli(["providers", "show", "strip"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("Did you mean stripe, stripe-v2?");
});

it("says when a contract was read too long ago", () => {
  const [stripe] = providerContracts.filter(({ name }) => name === "stripe");
  if (stripe === undefined) throw new Error("there is no contract of stripe");
  const readMs = Date.parse(`${stripe.checkedOn}T00:00:00Z`);
  const severities = [readMs + days(180), readMs + days(181)].map(
    (nowMs) => providerFindings(["stripe"], nowMs)[0]?.severity,
  );
  expect(severities).toEqual(["ok", "note"]);
  const facts = Object.fromEntries(providerFacts(stripe, readMs + days(181)));
  expect(facts["Checked"]).toContain("read the sources again");
});

it("doctor tells of the contracts that are named, and of no others", async () => {
  const opened = await openSqlite();
  const about = async (...args: string[]): Promise<unknown[]> => {
    const { document } = await runJson(["doctor", ...storeArgs(opened), ...args]);
    const { findings } = document as { findings: { about: string; message: string }[] };
    return findings.filter((finding) => finding.about === "providers");
  };
  expect(await about()).toEqual([]);
  expect(await about("--provider", "stripe", "aws-ec2")).toHaveLength(2);
  const { exitCode } = await runCli(["doctor", ...storeArgs(opened), "--provider", "strip"]);
  expect(exitCode).toBe(2);
  await opened.close();
});
