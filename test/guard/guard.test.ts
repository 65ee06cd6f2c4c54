/**
 * A decision that nobody has heard of can't come about; the staircase must not send if it does.
 */
import { expect, it, vi } from "vitest";
import { createGuard } from "../../src/index.ts";
import { InvariantError } from "../../src/base/errors.ts";
import { openSqlite } from "../support/stores.ts";
import { toolWith } from "./units.ts";

vi.mock("../../src/ledger/decide.ts", async (original) => ({
  ...(await original<object>()),
  decide: () => ({ kind: "perhaps" }),
}));

it("a decision that nobody has heard of is a defect, and nothing is sent", async () => {
  const opened = await openSqlite();
  let calls = 0;
  const tool = toolWith({ execute: () => (calls += 1) });
  const guard = await createGuard({ store: opened.store });
  const running = guard.run(tool, { orderId: "8812" }, { tenant: "acme" });
  await expect(running).rejects.toThrow(InvariantError);
  expect(calls).toBe(0);
  await opened.close();
});
