/**
 * Reconcile by another tool: what a server shows is found, absent or unsure, and nothing that can't be
 * read is ever "absent".
 */
import { expect, it } from "vitest";
import { findEffect } from "../../../src/edges/mcp/find-effect.ts";
import { parseTemplate } from "../../../src/edges/mcp/template.ts";
import type { ReconcilePolicy } from "../../../src/edges/mcp/tool-policy.ts";

type Members = Readonly<Record<string, unknown>>;

const policy: ReconcilePolicy = {
  tool: "list",
  arguments: { order: parseTemplate("{args.order}") },
  items: "/refunds",
  match: [{ pointer: "/key", equals: parseTemplate("{wireKey}") }],
  status: { pointer: "/status", succeeded: ["ok"], pending: ["open"], failed: ["no"] },
  id: "/id",
  authoritative: true,
};

async function look(
  results: readonly Members[],
  change: Partial<ReconcilePolicy> = {},
  wireKeys: readonly string[] = ["w2", "w1"],
): Promise<{ answer: unknown; asked: unknown[] }> {
  const asked: unknown[] = [];
  const request = async (_method: string, params: Members): Promise<Members> => {
    asked.push(params);
    return results[Math.min(asked.length, results.length) - 1] ?? {};
  };
  const question = {
    tenant: "acme",
    key: "k",
    wireKeys,
    arguments: { order: "8812" },
    signal: new AbortController().signal,
  };
  const answer = await findEffect({ ...policy, ...change }, { request }, question);
  return { answer, asked };
}

const listed = (...refunds: Members[]): Members => ({
  structuredContent: { refunds },
  content: [],
});

it("an effect with the key is found, with its id and status", async () => {
  const refund = { id: 7, key: "w2", status: "ok" };
  const { answer, asked } = await look([listed({ id: 6, key: "x", status: "ok" }, refund)]);
  expect(answer).toEqual({
    answer: "found",
    effects: [
      {
        status: "succeeded",
        providerId: "7",
        result: {
          content: [{ type: "text", text: JSON.stringify(refund) }],
          structuredContent: refund,
        },
      },
    ],
  });
  expect(asked).toEqual([{ name: "list", arguments: { order: "8812" } }]);
});

it("an older key is looked for as well", async () => {
  const { answer } = await look([listed({ id: 1, key: "w1", status: "open" })]);
  expect(answer).toMatchObject({ answer: "found", effects: [{ status: "pending" }] });
});

it.each([
  ["shows nothing", listed(), { answer: "absent" }],
  ["shows another key's effect only", listed({ key: "x", status: "ok" }), { answer: "absent" }],
  [
    "shows a failed one",
    listed({ key: "w2", status: "no" }),
    { answer: "found", effects: [{ status: "failed" }] },
  ],
  ["shows a status that nobody listed", listed({ key: "w2", status: "hm" }), { answer: "unsure" }],
  [
    "reports an error",
    { isError: true, content: [{ type: "text", text: "no rights" }] },
    { answer: "unsure", reason: "no rights" },
  ],
  ["has no list", { structuredContent: {}, content: [] }, { answer: "unsure" }],
  ["asks for input", { resultType: "input_required" }, { answer: "unsure" }],
  [
    "shows nothing where the policy looks",
    listed({ kye: "w2", status: "ok" }),
    { answer: "unsure", reason: "nothing in the look-up's result has anything at /key" },
  ],
  ["answers with nothing", {}, { answer: "unsure" }],
  [
    "answers in JSON text",
    { content: [{ type: "text", text: '{"refunds":[{"key":"w2","status":"ok"}]}' }] },
    { answer: "found" },
  ],
])("a server that %s", async (_what, result, expected) => {
  expect((await look([result])).answer).toMatchObject(expected);
});

it("a text that holds what is looked for is the effect, and without a value nothing is absent", async () => {
  const text = { content: [{ type: "text", text: "Release 1.2.0 of 8812" }] };
  const { items: _items, status: _status, id: _id, ...plain } = policy;
  const by = (contains: string): Promise<{ answer: unknown }> =>
    look([text], {
      ...plain,
      items: undefined,
      status: undefined,
      match: [],
      contains: parseTemplate(contains),
    } as never);
  expect((await by("of {args.order}")).answer).toMatchObject({ answer: "found" });
  expect((await by("of {args.none}")).answer).toMatchObject({ answer: "unsure" });
  expect((await by("{tenant}")).answer).toEqual({ answer: "absent" });
});

it("a text is found however the server's JSON spells it", async () => {
  const line = 'say "hi"\tto\nAnn';
  const holding = { contains: parseTemplate(line.replace("Ann", "{args.order}")), match: [] };
  const shown = { content: `a\n${line.replace("Ann", "8812")}\n` };
  const results = [
    { structuredContent: { refunds: [shown] } },
    { content: [{ type: "text", text: JSON.stringify({ refunds: [shown] }) }] },
  ];
  for (const result of results)
    expect((await look([result], { ...holding, status: undefined as never })).answer).toMatchObject(
      {
        answer: "found",
      },
    );
  const { answer } = await look([{ structuredContent: { refunds: ["another"] } }], holding);
  expect(answer).toEqual({ answer: "absent" });
});

it.each([
  ["nothing", { content: [] }],
  ["a picture", { content: [{ type: "image", data: "AA==", mimeType: "image/png" }] }],
  ["a picture beside a text", { content: [{ type: "text", text: "see" }, { type: "image" }] }],
  ["a task of the older era", { task: { taskId: "t-1", status: "working" } }],
  ["a task of the newer era", { resultType: "task", taskId: "t-1" }],
])("a result that holds %s never shows that there is no effect", async (_what, result) => {
  const { items: _items, ...one } = policy;
  const change = { ...one, items: undefined as never, match: [], status: undefined as never };
  for (const text of ["order {args.order}", "error"])
    expect(
      (await look([result], { ...change, contains: parseTemplate(text) })).answer,
    ).toMatchObject({ answer: "unsure" });
});

it("a text in a resource that the result embeds is read", async () => {
  const contains = parseTemplate("order {args.order}");
  const change = { items: undefined as never, match: [], contains, status: undefined as never };
  const embedding = (text: string): Members => ({
    content: [{ type: "resource", resource: { uri: "log://1", text } }],
  });
  expect((await look([embedding("order 8812 paid")], change)).answer).toMatchObject({
    answer: "found",
  });
  expect((await look([embedding("order 8813 paid")], change)).answer).toEqual({ answer: "absent" });
});

it("one page of more never shows that there is no effect", async () => {
  const page = { structuredContent: { refunds: [], nextCursor: "2" } };
  const mcpPage = { ...listed(), nextCursor: "2" };
  for (const result of [page, mcpPage]) {
    const { answer } = await look([result]);
    expect(answer).toEqual({ answer: "unsure", reason: "the look-up shows one page of more" });
  }
  for (const nextCursor of [null, ""]) {
    const { answer } = await look([{ structuredContent: { refunds: [], nextCursor } }]);
    expect(answer).toEqual({ answer: "absent" });
  }
  const found = {
    structuredContent: { refunds: [{ id: 7, key: "w2", status: "ok" }], nextCursor: "2" },
  };
  expect((await look([found])).answer).toMatchObject({ answer: "found" });
});
