/**
 * The gate between an SDK and its transport: one send, in time, and what a failure proves.
 */
import { expect, it } from "vitest";
import { type Attempt, type SendGate, sendOnce } from "../../../src/edges/providers/index.ts";

const attempt: Attempt = {
  beforeWrite: () => {},
  notSent: (cause) => new Error("not sent", { cause }),
};

async function failureOf(
  send: (gate: SendGate) => Promise<unknown>,
  call = attempt,
): Promise<unknown> {
  return sendOnce(call, send).then(
    () => "it succeeded",
    (error: unknown) => error,
  );
}

it("gives back what the SDK gives", async () => {
  const answer = await sendOnce(attempt, async (gate) => {
    gate.pass();
    return "done";
  });
  expect(answer).toBe("done");
});

it("stops a second send, and rejects with what the first one ended in", async () => {
  const first = new Error("503");
  const wire: string[] = [];
  const retrying = async (gate: SendGate): Promise<never> => {
    for (;;) {
      gate.pass();
      wire.push("sent");
      gate.failed(first);
    }
  };
  expect(await failureOf(retrying)).toBe(first);
  expect(wire).toEqual(["sent"]);
});

it("rejects with the SDK's own error where the first one was hidden", async () => {
  const failure = await failureOf(async (gate) => {
    gate.pass();
    gate.pass();
  });
  expect(failure).toMatchObject({ message: expect.stringContaining("send the request again") });
});

it("knows that nothing was sent, whether the SDK rejects or throws", async () => {
  const cause = new Error("no credentials");
  const throwing = (): never => {
    throw cause;
  };
  for (const send of [() => Promise.reject(cause), throwing]) {
    expect(await failureOf(send)).toMatchObject({ message: "not sent", cause });
  }
});

it("hands on the guard's own refusal, also where the SDK wraps it", async () => {
  const late = new Error("too late");
  const call = {
    ...attempt,
    beforeWrite: () => {
      throw late;
    },
  };
  const wrapping = async (gate: SendGate): Promise<void> => {
    try {
      gate.pass();
    } catch (error) {
      throw new Error("HttpError: 500", { cause: error });
    }
  };
  expect(await failureOf(wrapping, call)).toBe(late);
});
