/**
 * What passes the standing proxy of `nevertwice chaos`, whichever way client and server are reached:
 * progress, log lines, news of changes, and a server's questions, in the middle of struck calls too.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { callTool, textOf } from "../gateway/support/gateway-world.ts";
import { everything, everythingUrl, refundServer, refundUrl } from "../gateway/support/servers.ts";
import { chaosFolder, effectsIn, listeningProxy, pipedProxy } from "./chaos-proxies.ts";

/** Each way to the server, behind each way to the proxy. */
const ways = [
  ["a pipe", "a command"],
  ["a pipe", "a URL"],
  ["a port", "a command"],
  ["a port", "a URL"],
] as const;
type Way = (typeof ways)[number];

interface Behind {
  readonly url: () => Promise<string>;
  /** As a command: what Node runs. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function open(
  [front, back]: Way,
  options: readonly string[],
  { url, args, env }: Behind,
): Promise<Transport> {
  const server = back === "a URL" ? ["--url", await url()] : ["--", process.execPath, ...args];
  return front === "a pipe"
    ? pipedProxy([...options, ...server], env).transport
    : new StreamableHTTPClientTransport(
        new URL(await listeningProxy([...options, ...server], env)),
      );
}

const everythingBehind = { url: everythingUrl, args: [everything, "stdio"] };

interface Heard {
  readonly client: Client;
  /** What the server said and asked, by method. */
  readonly methods: string[];
}

/** The official client, which answers whatever it is asked. */
async function connect(way: Way, options: readonly string[]): Promise<Heard> {
  const methods: string[] = [];
  const client = new Client(
    { name: "agent", version: "1.0.0" },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  );
  client.fallbackNotificationHandler = async ({ method }) => void methods.push(method);
  client.fallbackRequestHandler = async ({ method }) => {
    methods.push(method);
    if (method === "roots/list") return { roots: [{ uri: "file:///srv/work" }] };
    if (method === "elicitation/create") return { action: "accept", content: { name: "Ann" } };
    const content = { type: "text", text: "a sample" };
    return { role: "assistant", model: "scripted", content, stopReason: "endTurn" };
  };
  await client.connect(await open(way, options, everythingBehind));
  onTestFinished(() => client.close());
  return { client, methods };
}

/** What comes in of progress. The client itself drops what it reads together with the reply. */
function progressAt({ transport }: Client): readonly unknown[] {
  const progress: unknown[] = [];
  const take = transport?.onmessage;
  Object.assign(transport ?? {}, {
    onmessage: (...[message, extra]: Parameters<NonNullable<typeof take>>) => {
      const isProgress = "method" in message && message.method === "notifications/progress";
      if (isProgress) progress.push(message.params?.["progress"]);
      take?.(message, extra);
    },
  });
  return progress;
}

describe.each(ways)("a client at %s, a server at %s", (...way) => {
  it("progress, log lines, changes, and questions in a call and outside of one pass", async () => {
    const { client, methods } = await connect(way, ["--rate", "0"]);
    // By itself the server asks for roots, logs that, and over a pipe tells of tools for this client.
    const changed = way[1] === "a command" ? ["notifications/tools/list_changed"] : [];
    const unasked = ["roots/list", "notifications/message", ...changed];
    await expect.poll(() => methods).toEqual(expect.arrayContaining(unasked));
    const progress = progressAt(client);
    await client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 0.3, steps: 3 } },
      { onprogress: () => {} },
    );
    expect(progress).toEqual([1, 2, 3]);
    const elicited = await callTool(client, "trigger-elicitation-request", {});
    expect(JSON.stringify(elicited.content)).toContain("Ann");
    const sampled = await callTool(client, "trigger-sampling-request", { prompt: "x" });
    expect(textOf(sampled)).toContain("a sample");
    expect(methods).toEqual(
      expect.arrayContaining(["elicitation/create", "sampling/createMessage"]),
    );
  });

  it("a server that asks in the middle of a call that arrives twice is answered twice", async () => {
    const { client, methods } = await connect(way, ["--rate", "1", "--faults", "duplicated"]);
    const elicited = await callTool(client, "trigger-elicitation-request", {});
    expect(JSON.stringify(elicited.content)).toContain("Ann");
    const asked = (): number => methods.filter((each) => each === "elicitation/create").length;
    await expect.poll(asked).toBe(2);
  });

  it("of a call whose reply is lost, what came before the reply was told", async () => {
    const { client, methods } = await connect(way, ["--rate", "1", "--faults", "reply-lost"]);
    const params = { name: "trigger-elicitation-request", arguments: {} };
    const patience = new AbortController();
    const call = client.callTool(params, { signal: patience.signal });
    const giveUp = async (): Promise<void> => {
      await expect.poll(() => methods).toContain("elicitation/create");
      // A reply that isn't lost would be here before this one.
      await client.listTools();
      patience.abort("waited long enough");
    };
    await Promise.all([giveUp(), expect(call).rejects.toThrow()]);
  });

  it("a client of the newer era is asked in rounds, and each of its calls is one effect", async () => {
    const place = chaosFolder();
    writeFileSync(join(place, "ask"), "");
    const client = new Client(
      { name: "agent", version: "1.0.0" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
    );
    let asked = 0;
    client.setRequestHandler("elicitation/create", async () => {
      asked += 1;
      return { action: "accept", content: { sure: true } };
    });
    const refunds = {
      url: () => refundUrl(place),
      args: [refundServer()],
      env: { LEDGER_FOLDER: place },
    };
    await client.connect(await open(way, ["--rate", "0"], refunds));
    onTestFinished(() => client.close());
    expect(client.getProtocolEra()).toBe("modern");
    const answer = await callTool(client, "issue_refund", { order_id: "8812", amount_minor: 1 });
    expect(answer.structuredContent).toMatchObject({ id: "re_1" });
    expect([asked, effectsIn(place)]).toEqual([1, 1]);
  });
});
