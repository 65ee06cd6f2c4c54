/**
 * What of a request makes it the same request, and what of an answer is given again (cases 5, 9, 16, 45
 * and 48).
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Handler, StoredResponse } from "../../../src/edges/http/index.ts";
import { bytesOf, neverReplayed } from "../../../src/edges/http/index.ts";
import { captureResponse } from "../../../src/edges/http/capture-response.ts";
import { storeBytes } from "../../../src/edges/http/stored-response.ts";
import { toPlainJson } from "../../../src/base/plain-json.ts";
import { type HttpWorld, httpScenario, problemOf, refundBody } from "./world.ts";

httpScenario(
  "numbers count by value and members by name, whatever their spelling",
  async (world) => {
    const same = [
      '{"amount":480,"to":{"name":"a","iban":"b"}}',
      '{"amount":480.0,"to":{"name":"a","iban":"b"}}',
      '{"amount":4.8e2,"to":{"iban":"b","name":"a"}}',
      ' {\n"to" : {"name":"a","iban":"b"}, "amount": 480 }',
      '\uFEFF{"amount":480,"to":{"name":"a","iban":"b"}}',
    ];
    for (const body of same) expect((await world.send({ body })).status).toBe(201);
    for (const body of ['{"amount":"480","to":{"name":"a","iban":"b"}}', '{"amount":480}', "[480]"])
      expect((await world.send({ body })).status).toBe(422);
    const zero = { path: "/zero", key: "zero" };
    for (const body of ['{"n":0}', '{"n":-0}'])
      expect((await world.send({ ...zero, body })).status).toBe(201);
    const sum = { path: "/sum", key: "sum" };
    expect((await world.send({ ...sum, body: '{"n":0.30000000000000004}' })).status).toBe(201);
    expect((await world.send({ ...sum, body: '{"n":0.3}' })).status).toBe(422);
    world.assertEffects(3);
  },
);

httpScenario(
  "JSON that a parser would change, or that isn't any, is refused before anything is recorded",
  async (world) => {
    const unsafe = await problemOf(
      await world.send({ body: '{"items":[{"id":9007199254740993}]}' }),
    );
    expect(unsafe).toMatchObject({ status: 400, code: "UNSUPPORTED_ARGUMENT" });
    expect(unsafe.detail).toContain("$.items[0].id");
    for (const body of ['{"n":1e400}', '{"n":1e21}', '{"t":"\\u0000"}', '{"t":"\\ud800"}'])
      expect((await problemOf(await world.send({ body }))).code).toBe("UNSUPPORTED_ARGUMENT");
    for (const body of ["{", '{"a":1}}', new Uint8Array([0x22, 0xff, 0x22])])
      expect(await problemOf(await world.send({ body }))).toMatchObject({
        status: 400,
        code: "ARGUMENTS_INVALID",
      });
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
    for (let round = 1; round <= 2; round += 1)
      expect((await world.send({ body: '{"id":9007199254740991}' })).status).toBe(201);
    world.assertEffects(1);
  },
);

httpScenario(
  "with chosen fields, the others may differ between two sends; a chosen one may not, twice in a row",
  async (world) => {
    const route = world.route({
      name: "chosen",
      fingerprint: { fields: ["orderId", "amountMinor"], query: ["dry"] },
    });
    const send = (change: object, path = "/refunds?dry=0&trace=1") =>
      world.send({ route, path, body: { ...refundBody, ...change } });
    expect((await send({ sdk: { createdAt: 1, nonce: "x" } })).status).toBe(201);
    const again = await send({ sdk: { createdAt: 2, nonce: "y" } }, "/refunds?trace=2&dry=0");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await send({ amountMinor: 1 })).status).toBe(422);
    expect((await send({ amountMinor: 1 })).status).toBe(422);
    expect((await send({}, "/refunds?dry=1")).status).toBe(422);
    expect((await world.send({ route, key: "list", body: "[1]" })).status).toBe(400);
    world.assertEffects(1);
  },
);

httpScenario(
  "a fingerprint of the application's own counts; one that throws stops the request before the claim",
  async (world) => {
    const route = world.route({
      name: "picked",
      fingerprint: {
        pick: ({ json, mediaType }) => {
          const { orderId } = json as { orderId?: string };
          if (orderId === undefined) throw new Error("no order");
          return { orderId, mediaType };
        },
      },
    });
    expect((await world.send({ route })).status).toBe(201);
    expect((await world.send({ route, body: { orderId: "8812", note: 1 } })).status).toBe(201);
    expect((await world.send({ route, body: { orderId: "8813" } })).status).toBe(422);
    await expect(world.send({ route, key: "other", body: {} })).rejects.toThrow("no order");
    expect(await world.rows()).toHaveLength(1);
    world.assertEffects(1);
  },
);

httpScenario("a body that is no JSON counts byte by byte, with its media type", async (world) => {
  const texts: string[] = [];
  const route = world.route({ name: "raw" }, async (request) => {
    texts.push(await request.text());
    await world.refund({ orderId: "raw" });
    return new Response("kept");
  });
  const send = (body: unknown, type = "text/csv; charset=utf-8") =>
    world.send({ route, body, headers: { "content-type": type } });
  expect((await send("a,1\n")).status).toBe(200);
  expect((await send("a,1\n", "TEXT/CSV")).headers.get("idempotent-replayed")).toBe("true");
  expect((await send("a,1\n\n")).status).toBe(422);
  expect((await send("a,1\n", "text/plain")).status).toBe(422);
  expect(texts).toEqual(["a,1\n"]);
  world.assertEffects(1);
});

httpScenario(
  "an empty body is a body like any other, and one that is too large gets 413",
  async (world) => {
    const route = world.route({ name: "small", maxBodyBytes: 64 }, async (request) => {
      await world.refund({ text: await request.text() });
      return new Response(null, { status: 204 });
    });
    expect((await world.send({ route, body: "" })).status).toBe(204);
    const again = await world.send({ route, body: "" });
    expect([again.status, await again.text()]).toEqual([204, ""]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await world.send({ route, body: "{}" })).status).toBe(422);
    const large = await problemOf(
      await world.send({ route, key: "large", body: `"${"x".repeat(64)}"` }),
    );
    expect(large).toMatchObject({ status: 413, type: "body-too-large", code: "ARGUMENTS_INVALID" });
    expect(await world.rows()).toHaveLength(1);
    world.assertEffects(1);
  },
);

function answering(world: HttpWorld, answer: () => Response): Handler<unknown> {
  return async (request) => {
    await world.refund(await request.json());
    return answer();
  };
}

httpScenario(
  "status, bytes and the listed fields come again exactly; what belongs to one caller never does",
  async (world) => {
    const headers = new Headers({
      "content-type": "application/vnd.refund+json; charset=utf-8",
      "content-disposition": 'attachment; filename="a,b.txt"',
      etag: 'W/"v1"',
      location: "/refunds/1?a=1,2",
      link: '</next>; rel="next", </last>; rel="last"',
      date: "Tue, 01 Dec 2026 10:00:00 GMT",
      "x-request-id": "r1",
      "x-ratelimit-remaining": "9",
      "x-refund-state": "open",
      "www-authenticate": "Bearer",
    });
    headers.append("set-cookie", "session=1");
    headers.append("set-cookie", "theme=dark");
    const bytes = new Uint8Array([0, 1, 2, 255, 254, 10]);
    const route = world.route(
      { name: "fields", replayHeaders: ["X-Refund-State"] },
      answering(world, () => new Response(bytes, { status: 202, headers })),
    );
    const first = await world.send({ route });
    const again = await world.send({ route });
    for (const answer of [first, again]) {
      expect(answer.status).toBe(202);
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
      expect(answer.headers.get("content-length")).toBe("6");
      for (const name of [
        "content-type",
        "content-disposition",
        "etag",
        "location",
        "x-refund-state",
      ])
        expect(answer.headers.get(name)).toBe(headers.get(name));
      expect(answer.headers.get("link")).toBe(
        `${headers.get("link")}, <https://service.example/idempotency>; rel="describedby"`,
      );
    }
    expect(first.headers.getSetCookie()).toEqual(["session=1", "theme=dark"]);
    expect(again.headers.getSetCookie()).toEqual([]);
    for (const name of ["date", "x-request-id", "x-ratelimit-remaining", "www-authenticate"])
      expect([name, again.headers.get(name)]).toEqual([name, null]);
    world.assertEffects(1);
  },
);

const unkept: readonly (readonly [
  name: string,
  answer: () => Response,
  bytes: number | "breaks",
])[] = [
  [
    "larger than is stored",
    () => new Response(new Uint8Array(5_000_000), { status: 201 }),
    5_000_000,
  ],
  [
    "streamed without a length beyond the limit",
    () => new Response(chunks(40, 32_768), { status: 201 }),
    1_310_720,
  ],
  [
    "an event stream",
    () =>
      new Response(chunks(2, 10), {
        status: 201,
        headers: { "content-type": "text/event-stream" },
      }),
    20,
  ],
  ["one that breaks off", () => new Response(chunks(2, 10, true), { status: 201 }), "breaks"],
];

function chunks(count: number, bytes: number, breaks = false): ReadableStream<Uint8Array> {
  let left = count;
  return new ReadableStream({
    pull: (controller) => {
      if (left > 0) controller.enqueue(new Uint8Array(bytes).fill(65));
      else if (breaks) controller.error(new Error("broke"));
      else controller.close();
      left -= 1;
    },
  });
}

for (const [name, answer, bytes] of unkept) {
  httpScenario(
    `an answer's body that is ${name} goes to the first caller alone; later ones are told that it was done`,
    async (world) => {
      const route = world.route({ name: "unkept" }, answering(world, answer));
      const first = await world.send({ route });
      expect(first.status).toBe(201);
      if (bytes === "breaks") await expect(first.arrayBuffer()).rejects.toThrow("broke");
      else expect((await first.arrayBuffer()).byteLength).toBe(bytes);
      const again = await world.send({ route });
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
      const note = (await again.json()) as { type: string; detail: string };
      expect(note.type).toMatch(/#body-not-stored$/);
      expect(note.detail).toContain("was carried out once");
      const [row] = await world.rows();
      expect(row?.status).toBe("DONE");
      expect((row?.result ?? "").length).toBeLessThan(400);
      world.assertEffects(1);
    },
  );
}

httpScenario(
  "a streamed body inside the limit is stored whole before it is told",
  async (world) => {
    const route = world.route(
      { name: "stream" },
      answering(world, () => new Response(chunks(3, 1000))),
    );
    const first = await (await world.send({ route })).text();
    expect(first).toBe("A".repeat(3000));
    expect(await (await world.send({ route })).text()).toBe(first);
    world.assertEffects(1);
  },
);

it("every sequence of bytes comes back as it was, and is plain JSON while it is stored", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array(),
        fc.string({ unit: "binary" }).map((text) => new TextEncoder().encode(text)),
      ),
      async (bytes) => {
        const body = storeBytes(bytes);
        const stored = toPlainJson(body) as unknown as ReturnType<typeof storeBytes>;
        expect(bytesOf(JSON.parse(JSON.stringify(stored)) as typeof stored)).toEqual(
          new Uint8Array(bytes),
        );
        const response = new Response(new Uint8Array(bytes));
        const captured = await captureResponse(response, { headers: [], maxBytes: 1_000_000 });
        expect(captured.stored satisfies StoredResponse).toEqual({
          v: 1,
          status: 200,
          headers: [],
          body,
        });
      },
    ),
  );
});

it("no list of an application can bring back a field of one exchange", () => {
  expect(neverReplayed).toEqual(
    expect.arrayContaining([
      "set-cookie",
      "www-authenticate",
      "authorization",
      "date",
      "retry-after",
    ]),
  );
});
