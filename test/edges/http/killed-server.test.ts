/**
 * A service that is killed between the effect and its answer, and the client that sends again: real
 * processes and sockets, and the database's own clock (cases 46, 53 and 84).
 */
import { expect, it, onTestFinished } from "vitest";
import { startFakeProvider } from "../../../src/testing/fake-provider/index.ts";
import { ageOperations } from "../../support/ageing.ts";
import { startWorker } from "../../support/processes.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";
import type { HttpCommands, ServeOrder } from "../../support/worker-http.ts";
import { placeOf } from "../../support/worker-place.ts";

const headers = { "idempotency-key": '"order-8812"', "content-type": "application/json" };
const body = JSON.stringify({ orderId: "8812", amountMinor: 48_000 });

/** Kills the service when its effect is there; another one is asked during its lease, and after. */
async function killAndAskAgain(
  suite: StoreSuite,
  terms: Pick<ServeOrder, "looks" | "passThrough">,
) {
  const opened = await suite.open();
  const provider = await startFakeProvider();
  onTestFinished(() => provider.close());
  const order = { place: placeOf(opened), providerUrl: provider.url, ...terms };
  const serve = async () => {
    const worker = await startWorker<HttpCommands>("worker-http.ts");
    return { worker, url: await worker.call("serve", order) };
  };
  const first = await serve();
  provider.fault({ gate: "answer", before: "reply" });
  const sending = fetch(first.url, { method: "POST", headers, body }).then(
    () => "answered",
    () => "lost",
  );
  await provider.parked("answer");
  await first.worker.kill();
  expect(await sending).toBe("lost");
  provider.release("answer");

  const second = await serve();
  const ask = async () => {
    const answer = await fetch(second.url, { method: "POST", headers, body });
    const { code, refund } = (await answer.json()) as Record<string, string>;
    const replayed = answer.headers.get("idempotent-replayed") === "true";
    return { told: code ?? answer.status, replayed, refund };
  };
  const early = await ask();
  await ageOperations(opened, 60_000);
  return { provider, answers: [early, await ask(), await ask()] };
}

describeStores("a service that is killed after the effect", (suite) => {
  it("is followed by one that finds the effect, and answers like the first would have", async () => {
    const { provider, answers } = await killAndAskAgain(suite, { looks: true, passThrough: false });
    const refund = provider.ledger()[0]?.effectId;
    const found = { told: 201, replayed: true, refund };
    expect(answers).toEqual([expect.objectContaining({ told: "IN_PROGRESS" }), found, found]);
    expect(provider.ledger()).toHaveLength(1);
  });

  it("leaves the matter to a person where nothing can be looked up", async () => {
    const { provider, answers } = await killAndAskAgain(suite, {
      looks: false,
      passThrough: false,
    });
    expect(answers.map(({ told }) => told)).toEqual([
      "IN_PROGRESS",
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
    ]);
    expect(provider.ledger()).toHaveLength(1);
  });

  it("doubles its effect without the guard", async () => {
    const { provider } = await killAndAskAgain(suite, { looks: true, passThrough: true });
    expect(provider.ledger()).toHaveLength(4);
  });
});
