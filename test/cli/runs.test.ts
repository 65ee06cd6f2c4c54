/**
 * `runs`, `approvals` and `operations compensate` on both stores: what a person sees and decides
 * there is what the run goes on with, and an effect is undone once.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createFlows, createGuard, defineTool, flow } from "../../src/index.ts";
import { programFolder } from "../support/program-folder.ts";
import { stopAt } from "../support/store-faults.ts";
import { describeStores } from "../support/stores.ts";
import { errorOf, runCli, runJson, storeArgs } from "./run-cli.ts";

describeStores("runs and approvals", (suite) => {
  it("are listed, shown and decided from the command line", async () => {
    const opened = await suite.open();
    const guard = await createGuard({ store: opened.store });
    const asking = flow("asking", async (f) => {
      const amount = await f.decide("assess", () => 480);
      const { by } = await f.approve("manager", { amount });
      return by;
    });
    const flows = createFlows({ store: opened.store, guard, flows: [asking] });
    const id = { tenant: "acme", runId: "ticket-5521" };
    await flows.run(asking, id, {});
    const place = storeArgs(opened);
    const [runs, shown, open, table] = await Promise.all([
      runJson(["runs", "list", "--status=WAITING", ...place]),
      runJson(["runs", "show", "ticket-5521", "--tenant=acme", ...place]),
      runJson(["approvals", "list", ...place]),
      runCli(["runs", "show", "ticket-5521", "--tenant=acme", ...place]),
    ]);
    expect(runs.document).toMatchObject({
      runs: [{ runId: "ticket-5521", flow: "asking", waitsFor: "manager: approval" }],
    });
    expect(shown.document).toMatchObject({
      run: { status: "WAITING" },
      steps: [{ name: "assess", kind: "decide", status: "DONE" }],
    });
    expect(table.stdout).toContain("assess");
    const { approvals } = open.document as { approvals: { fingerprint: string }[] };
    expect(approvals).toMatchObject([{ step: "manager", payload: { amount: 480 }, version: 1 }]);
    const decide = ["approvals", "decide", "ticket-5521", "--tenant=acme", "--step=manager"];
    const said = ["--by=Ann Lee", "--why=seen", "--decision=approve", ...place];
    const print = `--fingerprint=${approvals[0]?.fingerprint ?? ""}`;
    const wrong = await runJson([...decide, ...said, "--fingerprint=other"]);
    expect([wrong.exitCode, errorOf(wrong)["code"]]).toEqual([5, "APPROVAL_CONFLICT"]);
    const decided = await runJson([...decide, ...said, print]);
    expect(decided.document).toMatchObject({
      approval: { status: "APPROVED", decidedBy: "Ann Lee" },
    });
    await flows.workOnce();
    expect(await flows.read(id)).toMatchObject({ status: "DONE", output: "Ann Lee" });
    const [retried, missing] = await Promise.all([
      runJson(["runs", "retry", "ticket-5521", "--tenant=acme", ...place]),
      runJson(["runs", "show", "none", "--tenant=acme", ...place]),
    ]);
    const refused = [retried, missing].map((ran) => [ran.exitCode, errorOf(ran)["code"]]);
    expect(refused).toEqual([
      [5, "RUN_NOT_FAILED"],
      [5, "RUN_NOT_FOUND"],
    ]);
  });

  it("show tells which effects of a failed run are in doubt, and what became of them", async () => {
    const opened = await suite.open();
    const unknown = stopAt("after-settle");
    const guard = await createGuard({ store: opened.store, onPoint: unknown.onPoint });
    const refund = defineTool({
      name: "refund",
      kind: "non-idempotent",
      arguments: z.object({ order: z.string() }),
      intent: ({ args }) => `refund:${args.order}`,
      businessArguments: ["order"],
      contract: { timeoutMs: 1000, flightMs: 1000 },
      execute: () => Promise.reject(new Error("socket hang up")),
    });
    const ending = flow("ending", async (f) => {
      const failing = unknown.reached(new Promise(() => {})).then(() => f.fail("closed"));
      await Promise.all([f.act("refund", refund, { order: "8812" }), failing]);
    });
    const flows = createFlows({ store: opened.store, guard, flows: [ending] });
    await flows.run(ending, { tenant: "acme", runId: "ticket-1" }, {});
    unknown.release();
    const [operation] = await flows.openEffects({ tenant: "acme", runId: "ticket-1" });
    const show = ["runs", "show", "ticket-1", "--tenant=acme", ...storeArgs(opened)];
    const [doubt, table] = [await runJson(show), await runCli(show)];
    const key = operation?.key ?? "";
    expect(doubt.document).toMatchObject({
      run: { status: "FAILED", error: { inDoubt: [{ step: "refund", key, status: "UNKNOWN" }] } },
      openEffects: [{ step: "refund", key, status: "UNKNOWN", inDoubt: true }],
    });
    expect(table.stdout).toMatch(/^refund +[0-9a-f]{12} +UNKNOWN +in doubt$/m);
    const found = { resultKind: "json", result: "{}", providerId: "re_1", detail: "{}" } as const;
    const id = { tenant: "acme", key };
    await opened.store.complete({ ...id, ...found, event: "operation.found" });
    expect((await runCli(show)).stdout).toMatch(/^refund +[0-9a-f]{12} +DONE +exists$/m);
  });

  it("an effect is undone once, however often a person asks", async () => {
    const opened = await suite.open();
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const folder = programFolder("compensate");
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const ledger = join(folder, "ledger.txt");
    const file = join(folder, "tools.ts");
    writeFileSync(ledger, "");
    writeFileSync(file, toolsModule(join(root, "src/index.ts"), ledger));
    const { refund, effects } = (await import(file)) as {
      refund: never;
      effects: () => readonly string[];
    };
    const guard = await createGuard({ store: opened.store });
    const { key } = await guard.run(refund, { order: "8812" }, { tenant: "acme" });
    const undo = [
      "operations",
      "compensate",
      (key ?? "").slice(0, 12),
      "--tenant=acme",
      `--tools=${file}`,
      ...storeArgs(opened),
    ];
    const first = await runJson(undo);
    const second = await runJson(undo);
    expect(first.document).toMatchObject({ undone: key, compensation: { replayed: false } });
    expect(second.document).toMatchObject({ undone: key, compensation: { replayed: true } });
    expect(effects()).toEqual(["refund 8812", "reversal 8812"]);
    const none = await runJson(
      undo.map((arg) => (arg.startsWith("--tools") ? "--tools=/none.ts" : arg)),
    );
    expect(errorOf(none)["code"]).toBe("FILE");
  });
});

/** A tool with a compensation whose provider is a file: one line, one effect. */
function toolsModule(index: string, ledger: string): string {
  return `
import { appendFileSync, readFileSync } from "node:fs";
import { defineTool } from ${JSON.stringify(index)};
import { z } from "zod";
const ledger = ${JSON.stringify(ledger)};
export const effects = () => readFileSync(ledger, "utf8").trim().split("\\n");
const toolOf = (name: string, more: object) =>
  defineTool({
    name,
    kind: "non-idempotent",
    arguments: z.object({ order: z.string() }),
    intent: ({ args }: { args: { order: string } }) => \`\${name}:\${args.order}\`,
    businessArguments: ["order"],
    contract: { timeoutMs: 1000, flightMs: 1000 },
    execute: ({ order }: { order: string }) => {
      appendFileSync(ledger, \`\${name} \${order}\\n\`);
      return { id: name };
    },
    ...more,
  } as never);
const reversal = toolOf("reversal", {});
export const refund = toolOf("refund", {
  compensation: { tool: reversal, arguments: (effect: { arguments: object }) => effect.arguments },
});
export const tools = [refund, reversal];
`;
}
