/**
 * Cases of the writes that only an operation's owner may make.
 *
 * @module
 */
import type { OperationRecord } from "../../ledger/record.ts";
import type { Status } from "../../ledger/status.ts";
import type { Store } from "../../ledger/store.ts";
import { type StoreCase, storeCase } from "./case.ts";
import {
  type Owner,
  armParams,
  claimParams,
  failParams,
  fencedBy,
  leaseMs,
  made,
  operationIn,
  releaseParams,
  takenOver,
  takeOverParams,
  unknownParams,
} from "./params.ts";

interface OwnersWrite {
  readonly rule: string;
  readonly event: string;
  readonly status: Status;
  readonly run: (store: Store, owner: Owner) => Promise<OperationRecord | undefined>;
}

const ownersWrites: Readonly<Record<string, OwnersWrite>> = {
  arm: {
    rule: "R10",
    event: "operation.resent",
    status: "IN_PROGRESS",
    run: (store, owner) => store.arm(armParams(owner)),
  },
  renew: {
    rule: "R11",
    event: "operation.renewed",
    status: "IN_PROGRESS",
    run: (store, owner) => store.renew({ ...fencedBy(owner), leaseMs, detail: "{}" }),
  },
  release: {
    rule: "R12",
    event: "operation.released",
    status: "IN_PROGRESS",
    run: (store, owner) => store.release(releaseParams(owner)),
  },
  fail: {
    rule: "R12",
    event: "operation.failed",
    status: "FAILED",
    run: (store, owner) => store.fail(failParams(owner)),
  },
  markUnknown: {
    rule: "R12",
    event: "operation.unknown",
    status: "UNKNOWN",
    run: (store, owner) => store.markUnknown(unknownParams(owner)),
  },
  escalate: {
    rule: "R12",
    event: "review.opened",
    status: "NEEDS_REVIEW",
    run: (store, owner) => store.escalate({ ...fencedBy(owner), reason: "why", detail: "{}" }),
  },
};

/** A write without token, key and status returns nothing and writes nothing (R12). */
export const owning: readonly StoreCase[] = [
  ...Object.entries(ownersWrites).flatMap(([method, write]) => casesOf(method, write)),
  storeCase(
    "renew prolongs the lease from now on",
    { rule: "R11", fault: "lease not prolonged", needsClock: true },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      await scene.advance(leaseMs - 1);
      const renew = { ...fencedBy(owner), leaseMs: leaseMs * 7, detail: "{}" };
      const row = made("renew", await scene.store.renew(renew));
      scene.is("the lease", row.leaseUntilMs - row.createdAtMs, leaseMs - 1 + leaseMs * 7);
    },
  ),
  storeCase(
    "renew writes nothing once the lease is over, though nobody took it",
    { rule: "R11", fault: "lost lease revived" },
    async (scene) => {
      const owner = await scene.store.claim(claimParams("key", { leaseMs: 0 }));
      const renew = { ...fencedBy(owner), leaseMs, detail: "{}" };
      await scene.refuses("a lease that is over", () => scene.store.renew(renew));
    },
  ),
  storeCase(
    "release takes one attempt back, once, and leaves the operation free for the next call",
    { rule: "R13", fault: "attempt taken back wrongly" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const release = releaseParams(owner, { error: '{"message":"not sent"}' });
      const released = scene.has("the row", await scene.store.release(release), {
        status: "IN_PROGRESS",
        attempts: 0,
        attemptsInGeneration: 0,
        firstArmedAtMs: null,
        error: '{"message":"not sent"}',
      });
      scene.holds("its lease is over", released.leaseUntilMs <= released.readAtMs);
      await scene.refuses("once more", () => scene.store.release(release));
      const nothing = releaseParams(released);
      await scene.refuses("with nothing armed", () => scene.store.release(nothing));
      const taken = await scene.store.takeOver(takeOverParams(released));
      scene.has("the next call's row", taken, { status: "IN_PROGRESS", attempts: 0 });
    },
  ),
  storeCase(
    "release of a second attempt leaves the first one's outcome unknown",
    { rule: "R13", fault: "earlier attempt forgotten" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const resent = made("arm", await scene.store.arm(armParams(owner)));
      scene.has("the row", await scene.store.release(releaseParams(resent)), {
        status: "UNKNOWN",
        attempts: 1,
        attemptsInGeneration: 1,
        firstArmedAtMs: owner.firstArmedAtMs,
      });
    },
  ),
  storeCase(
    "release writes nothing for an attempt that isn't the last",
    { rule: "R12", fault: "wrong attempt taken back" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const resent = made("arm", await scene.store.arm(armParams(owner)));
      for (const off of [-1, 1]) {
        const wrong = releaseParams({ ...resent, attempts: resent.attempts + off });
        await scene.refuses(`attempts off by ${off}`, () => scene.store.release(wrong));
      }
    },
  ),
  storeCase(
    "markUnknown keeps what was sent, stores the error and gives the lease up",
    { rule: "R13", fault: "doubt badly recorded" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const doubt = unknownParams(owner, { error: '{"message":"time-out"}', sweepAfterMs: 0 });
      const { readAtMs: _, leaseUntilMs: __, ...kept } = owner;
      const row = scene.has("the row", await scene.store.markUnknown(doubt), {
        ...kept,
        status: "UNKNOWN",
        error: '{"message":"time-out"}',
        version: owner.version + 1,
        journalSeq: owner.journalSeq + 1,
      });
      scene.holds("its lease is over", row.leaseUntilMs <= row.readAtMs);
    },
  ),
  storeCase(
    "markUnknown tells the journal the event that it was given",
    { rule: "R18", fault: "finding lost" },
    async (scene) => {
      for (const event of ["operation.unknown", "operation.unsure", "operation.absent"] as const) {
        const owner = await operationIn(scene.store, event, "IN_PROGRESS");
        made("markUnknown", await scene.store.markUnknown(unknownParams(owner, { event })));
        scene.is("the journal's last event", (await scene.events(event)).at(-1), event);
      }
    },
  ),
  storeCase(
    "escalate stores the reason and gives the lease up",
    { rule: "R30", fault: "reason lost" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const escalate = { ...fencedBy(owner), reason: "nobody knows", detail: "{}" };
      const row = scene.has("the row", await scene.store.escalate(escalate), {
        status: "NEEDS_REVIEW",
        reviewReason: "nobody knows",
      });
      scene.holds("its lease is over", row.leaseUntilMs <= row.readAtMs);
    },
  ),
];

function casesOf(method: string, { rule, event, status, run }: OwnersWrite): readonly StoreCase[] {
  return [
    storeCase(
      `${method} with a token that isn't the row's writes nothing`,
      { rule: "R12", fault: `stale token, ${method}` },
      async (scene) => {
        const { stale, owner } = await takenOver(scene.store, "key");
        await scene.refuses("the token before the take-over", () => run(scene.store, stale));
        const ahead = { ...owner, token: owner.token + 1 };
        await scene.refuses("a token to come", () => run(scene.store, ahead));
        scene.has("the owner's row", await run(scene.store, owner), { token: owner.token });
      },
    ),
    storeCase(
      `${method} writes nothing on an operation that isn't in progress`,
      { rule: "R12", fault: `status not checked, ${method}` },
      async (scene) => {
        for (const other of ["UNKNOWN", "NEEDS_REVIEW", "DONE", "FAILED"] as const) {
          const owner = await operationIn(scene.store, other, other);
          await scene.refuses(other, () => run(scene.store, owner));
        }
      },
    ),
    storeCase(
      `${method} with the right token writes the row and one journal line`,
      { rule, fault: `line or version missing, ${method}` },
      async (scene) => {
        const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
        const row = scene.has("the row", await run(scene.store, owner), {
          status,
          token: owner.token,
          version: owner.version + 1,
          journalSeq: owner.journalSeq + 1,
        });
        const { readAtMs: _, ...stored } = row;
        scene.has("the row as read by another connection", await scene.row(owner), stored);
        const events = ["operation.claimed", "operation.armed", event];
        scene.is("the journal", await scene.events("key"), events);
        const last = (await scene.lines("key")).at(-1);
        const told = { status: last?.status, token: last?.token, attempts: last?.attempts };
        const expected = { status, token: owner.token, attempts: row.attempts };
        scene.is("the journal's last line", told, expected);
      },
    ),
  ];
}
