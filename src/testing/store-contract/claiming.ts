/**
 * Cases of the claim.
 *
 * @module
 */
import { statuses } from "../../ledger/status.ts";
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  leaseMs,
  made,
  operationIn,
  quietMs,
  takeOverParams,
  wholeList,
} from "./params.ts";

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

/** The claim is one atomic statement that always returns the row (R8). */
export const claiming = [
  storeCase(
    "of many claims of one key through two connections one creates the operation, and all see its row",
    { rule: "R8", fault: "claim race" },
    async (scene) => {
      const [one, two] = [scene.store, await scene.another()];
      const claims = numbers(24).map((at) => claimParams("contested", { wireKey: `wire-${at}` }));
      const rows = await Promise.all(
        claims.map((claim, at) => (at % 2 === 0 ? one : two).claim(claim)),
      );
      const winners = claims.filter((claim, at) => rows[at]?.acquisitionId === claim.acquisitionId);
      scene.is("how many claims created the operation", winners.length, 1);
      for (const row of rows) {
        scene.has("the row that a claim saw", row, {
          key: "contested",
          token: rows[0]?.token ?? -1,
          acquisitionId: winners[0]?.acquisitionId ?? "",
          wireKey: winners[0]?.wireKey ?? "",
          attempts: 1,
        });
      }
      scene.is("how many operations there are", (await one.list(wholeList)).length, 1);
    },
  ),
  storeCase(
    "claims of many keys at once each get their own row",
    { rule: "R8", fault: "rows mixed up in a batch" },
    async (scene) => {
      const claims = numbers(60).map((at) =>
        claimParams(`key-${at}`, { wireKey: `wire of ${at}`, fingerprint: `print of ${at}` }),
      );
      const rows = await Promise.all(claims.map((claim) => scene.store.claim(claim)));
      for (const [at, claim] of claims.entries()) {
        const { key, acquisitionId, wireKey, fingerprint } = claim;
        scene.has(`the row of ${key}`, rows[at], { key, acquisitionId, wireKey, fingerprint });
      }
    },
  ),
  storeCase(
    "a claim whose acknowledgement was lost is recognised when it is made again",
    { rule: "R8", fault: "own claim not recognised" },
    async (scene) => {
      const claim = claimParams("key");
      const first = await scene.store.claim(claim);
      const { token, acquisitionId, createdAtMs, version } = first;
      scene.is("the acquisition that the claim reports", acquisitionId, claim.acquisitionId);
      const again = await (await scene.another()).claim(claim);
      scene.has("the row that the same claim sees", again, {
        token,
        acquisitionId,
        createdAtMs,
        version,
        status: "IN_PROGRESS",
        attempts: 1,
        attemptsInGeneration: 1,
      });
    },
  ),
  storeCase(
    "a claim stores all that it was given, and returns all of it",
    { rule: "R17", fault: "claimed value lost" },
    async (scene) => {
      const claim = claimParams("key", {
        keyAlgorithm: "an algorithm",
        operation: "payout",
        tool: "send_payout",
        intent: '{"intent":"payout"}',
        fingerprint: "a print",
        arguments: '{"amountMinor":1}',
        wireKey: "a wire key",
        retentionMs: 123_456,
        supersedes: "another key",
        lookAlike: "a mark",
      });
      const { leaseMs: lease, quietMs: quiet, arm, detail, ...given } = claim;
      const row = scene.has("the row", await scene.store.claim(claim), {
        ...given,
        status: "IN_PROGRESS",
        generation: 0,
        attempts: 1,
        resultKind: null,
        result: null,
        error: null,
        providerId: null,
        reviewReason: null,
        incident: null,
        supersededBy: null,
        version: 1,
        journalSeq: 2,
        settledAtMs: null,
        purgedAtMs: null,
        sweeps: 0,
      });
      scene.is("the lease", row.leaseUntilMs - row.createdAtMs, lease);
      scene.is("the quiet time", row.quietUntilMs - row.createdAtMs, quiet);
      scene.is("what the claim armed", row.attempts, Number(arm));
      scene.is("its journal's detail", (await scene.lines("key"))[0]?.detail, detail);
      const { readAtMs: _, ...stored } = row;
      scene.has("the row as read by another connection", await scene.row(claim), stored);
    },
  ),
  storeCase(
    "a claim with another payload changes nothing but the journal, whatever the status",
    { rule: "R12", fault: "duplicate overwrites" },
    async (scene) => {
      for (const status of statuses) {
        const before = await operationIn(scene.store, status, status);
        const other = claimParams(status, {
          operation: "other",
          tool: "other",
          intent: '{"intent":"other"}',
          fingerprint: "other",
          arguments: '{"amountMinor":1}',
          leaseMs: leaseMs * 9,
          quietMs: quietMs * 9,
          retentionMs: 1,
          arm: true,
          wireKey: "other",
          supersedes: "other",
          lookAlike: "other",
        });
        const { readAtMs: _, ...kept } = before;
        const expected = { ...kept, journalSeq: before.journalSeq + 1 };
        scene.has(`the row that it meets, ${status}`, await scene.store.claim(other), expected);
        scene.has(`the row afterwards, ${status}`, await scene.row(other), expected);
        const last = (await scene.lines(status)).at(-1);
        const told = { event: last?.event, status: last?.status, token: last?.token };
        const repeated = { event: "operation.repeated", status, token: before.token };
        scene.is("the journal's last line", told, repeated);
      }
    },
  ),
  storeCase(
    "a claim with `arm` arms attempt 1",
    { rule: "R10", fault: "claim that does not arm" },
    async (scene) => {
      const row = await scene.store.claim(claimParams("key", { arm: true }));
      const { createdAtMs } = row;
      scene.has("the row", row, {
        attempts: 1,
        attemptsInGeneration: 1,
        firstArmedAtMs: createdAtMs,
        lastArmedAtMs: createdAtMs,
        quietUntilMs: createdAtMs + quietMs,
        leaseUntilMs: createdAtMs + leaseMs,
        wireKey: "wire-key",
      });
      const events = ["operation.claimed", "operation.armed"];
      scene.is("the journal", await scene.events("key"), events);
    },
  ),
  storeCase(
    "a claim without `arm` arms nothing",
    { rule: "R10", fault: "claim that arms unasked" },
    async (scene) => {
      const row = await scene.store.claim(claimParams("key", { arm: false }));
      scene.has("the row", row, {
        attempts: 0,
        attemptsInGeneration: 0,
        firstArmedAtMs: null,
        lastArmedAtMs: null,
        quietUntilMs: 0,
        leaseUntilMs: row.createdAtMs + leaseMs,
        journalSeq: 1,
      });
      scene.is("the journal", await scene.events("key"), ["operation.claimed"]);
      const armed = await scene.store.arm(armParams(row, { resendSpanMs: 0 }));
      scene.has("the row armed separately", armed, { attempts: 1, attemptsInGeneration: 1 });
    },
  ),
  storeCase(
    "tokens rise with every acquisition, over all keys",
    { rule: "R9", fault: "token used twice" },
    async (scene) => {
      const tokens: number[] = [];
      for (const key of ["z", "m", "a"]) {
        const claimed = await scene.store.claim(claimParams(key, { leaseMs: 0 }));
        const taker = takeOverParams(claimed, { leaseMs: 0 });
        const taken = made("takeOver", await scene.store.takeOver(taker));
        const last = made("takeOver", await scene.store.takeOver(takeOverParams(taken)));
        tokens.push(claimed.token, taken.token, last.token);
      }
      const rising = [...new Set(tokens)].toSorted((one, other) => one - other);
      scene.is("the tokens, in order of acquisition", tokens, rising);
    },
  ),
  storeCase(
    "tokens are unique over connections that acquire at the same time",
    { rule: "R9", fault: "token per connection" },
    async (scene) => {
      const stores = [scene.store, await scene.another(), await scene.another()];
      const claims = stores.flatMap((store, place) =>
        numbers(20).map((at) => store.claim(claimParams(`${place}-${at}`, { leaseMs: 0 }))),
      );
      const claimed = await Promise.all(claims);
      const takeOvers = claimed.map((row, at) =>
        (stores[at % 3] ?? scene.store).takeOver(takeOverParams(row)),
      );
      const taken = (await Promise.all(takeOvers)).map((row) => made("takeOver", row));
      const tokens = new Set([...claimed, ...taken].map((row) => row.token));
      scene.is("how many different tokens there are", tokens.size, 120);
    },
  ),
  storeCase(
    "keys and tenants are compared exactly: letter case, accents and spaces matter",
    { rule: "R6", fault: "collation merges keys" },
    async (scene) => {
      const names = ["key", "Key", "key ", "k\u00e9y", "ke\u0301y", "k\u0435y"];
      const ids = [
        ...names.map((key) => ({ tenant: "acme", key })),
        ...names.map((tenant) => ({ tenant, key: "one" })),
      ];
      for (const { tenant, key } of ids) {
        const claim = claimParams(key, { tenant });
        const { acquisitionId } = claim;
        const what = `the row of ${JSON.stringify({ tenant, key })}`;
        scene.has(what, await scene.store.claim(claim), { tenant, key, acquisitionId });
        scene.has(what, await scene.row(claim), { tenant, key, acquisitionId });
      }
    },
  ),
];
