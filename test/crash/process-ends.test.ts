/**
 * A process that ends by itself: right after its answer nothing is left to be written (case 109), and
 * asked to end in mid-call it gives nothing back, so that nobody begins before its lease is over.
 */
import { expect } from "vitest";
import { minutes } from "../../src/index.ts";
import { crewScenario } from "../support/worker-crew.ts";

/** No call ends by its time-out, however slow the machine is. */
const unhurried = { timeoutMs: minutes(1) };

crewScenario(
  "a process that exits in the turn of its answer leaves a finished operation",
  unhurried,
  async (crew) => {
    const [exiting, other] = await Promise.all([crew.hire(), crew.hire()]);
    const gone = exiting.call("runAndExit", { orderId: "8812" });
    await expect(gone).rejects.toThrow("the worker ended (0)");
    expect(await crew.statusOf()).toEqual(["DONE"]);
    expect((await other.call("run", { orderId: "8812" })).told).toBe("REPLAYED");
    crew.assertEffects(1);
  },
);

crewScenario(
  "a process that is told to end in mid-call keeps its lease, and another finds what it did",
  unhurried,
  async (crew) => {
    const [ending, other] = await Promise.all([crew.hire(), crew.hire()]);
    crew.provider.fault({ gate: "reply", before: "reply" });
    const call = ending.call("run", { orderId: "8812" });
    await crew.provider.parked("reply");
    process.kill(ending.processId, "SIGTERM");
    await expect(call).rejects.toThrow("the worker ended (SIGTERM)");
    expect(await crew.statusOf()).toEqual(["IN_PROGRESS"]);
    expect((await other.call("run", { orderId: "8812" })).told).toBe("IN_PROGRESS");
    await crew.age(minutes(2));
    expect((await other.call("run", { orderId: "8812" })).told).toBe("REPLAYED");
    expect(await crew.statusOf()).toEqual(["DONE"]);
    crew.assertEffects(1);
  },
);
