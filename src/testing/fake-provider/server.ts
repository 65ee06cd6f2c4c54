import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { Answer, Reply } from "./answer.ts";
import type { ProviderBehaviour } from "./behaviour.ts";
import { PARKED_LIMIT_MS, type ProviderControl } from "./control.ts";
import type { FaultStep } from "./faults.ts";
import { Gates } from "./gates.ts";
import { openLedgerFile, type LedgerFile } from "./ledger-file.ts";
import { ProviderRules, type RequestStory } from "./provider-rules.ts";
import type {
  Arrival,
  CreateRequest,
  LedgerRow,
  LookUpArrival,
  LookUpQuery,
  ProviderCounters,
} from "./records.ts";
import { controlBody, refuse, routeFor, type RouteTarget } from "./routes.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** How to start a fake provider. */
export interface FakeProviderOptions {
  /** Port on 127.0.0.1. Default 0: a free one. */
  readonly port?: number;
  /** What kind of provider it is, also after a reset. Default: the ideal one. */
  readonly behaviour?: ProviderBehaviour;
  /** Keeps ledger and keys in this file and `<file>.keys`, so that a killed process loses nothing. */
  readonly ledgerFile?: string;
}

/** A fake provider that listens in this process. */
export interface FakeProvider extends ProviderControl {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Stops listening and cuts every connection; requests under way will not land. */
  close(): Promise<void>;
}

/** Starts a fake provider; resolves when it listens. */
export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const provider = new ProviderServer(options);
  await provider.listen(options.port ?? 0);
  return provider;
}

/** Drives the rules with sockets, timers and gates. */
class ProviderServer implements FakeProvider, RouteTarget {
  url = "";
  readonly #file: LedgerFile | undefined;
  readonly #rules: ProviderRules;
  readonly #clock: VirtualClock;
  readonly #gates = new Gates();
  readonly #server: Server;
  /** Create requests whose story hasn't ended. */
  readonly #open = new Set<ServerResponse>();

  constructor({ ledgerFile, behaviour }: FakeProviderOptions) {
    this.#file = ledgerFile === undefined ? undefined : openLedgerFile(ledgerFile);
    this.#clock = new VirtualClock(this.#file?.ledger.at(-1)?.atMs);
    this.#rules = new ProviderRules({ ...this.#file, ...(behaviour && { behaviour }) });
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // A server that hangs up on idle connections would look like one of the faults.
    this.#server.keepAliveTimeout = 0;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
        resolve();
      });
    });
  }

  ledger(): readonly LedgerRow[] {
    return this.#rules.ledger();
  }

  count(operation?: string): number {
    const rows = this.#rules.ledger();
    return rows.filter((row) => operation === undefined || row.operation === operation).length;
  }

  arrivals(): readonly Arrival[] {
    return this.#rules.arrivals();
  }

  lookUps(): readonly LookUpArrival[] {
    return this.#rules.lookUps();
  }

  counters(): ProviderCounters {
    return this.#rules.counters();
  }

  behave(change: ProviderBehaviour): void {
    this.#rules.behave(change);
  }

  fault(...steps: FaultStep[]): void {
    this.#rules.fault(...steps);
  }

  faultAlways(step: FaultStep | null): void {
    this.#rules.faultAlways(step);
  }

  advance(ms: number): void {
    this.#clock.advance(ms);
  }

  release(gate: string): void {
    this.#gates.release(gate);
  }

  async parked(gate: string, count = 1): Promise<void> {
    if (await this.#gates.whenParked(gate, count, PARKED_LIMIT_MS)) return;
    throw new Error(`waited in vain for ${count} request(s) at gate "${gate}"`);
  }

  parkedGates(): readonly string[] {
    return this.#gates.names();
  }

  find(query: LookUpQuery): Reply {
    return this.#rules.find(query, this.#clock.now());
  }

  get(effectId: string, account: string | null): Reply {
    return this.#rules.get(effectId, account, this.#clock.now());
  }

  reset(): void {
    this.#abandonStories();
    this.#rules.reset();
    this.#file?.clear();
  }

  async close(): Promise<void> {
    this.#abandonStories();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    this.#file?.close();
  }

  #abandonStories(): void {
    this.#clock.reset();
    this.#gates.clear();
    for (const response of this.#open) response.req.socket.destroy();
    this.#open.clear();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that goes away in mid-reply is everyday business here.
    response.on("error", () => undefined);
    const body = await readBody(request);
    try {
      const url = new URL(request.url ?? "", "http://provider");
      const last = decodeURIComponent(url.pathname.split("/").at(-1) ?? "");
      if (request.method === "POST" && /^\/effects\/[^/]+$/.test(url.pathname)) {
        this.#serveCreate(createRequest(request, last, body.text), body.complete, response);
        return;
      }
      const route = routeFor(request.method ?? "", url.pathname);
      if (route === undefined) {
        send(response, refuse(404, "no_route", `no route ${request.method} ${url.pathname}`));
        return;
      }
      const account = headerOf(request, "x-account");
      const call = { last, query: url.searchParams, body: controlBody(body.text), account };
      send(response, await route(this, call));
    } catch (error) {
      const isCallers = error instanceof TypeError || error instanceof URIError;
      send(response, refuse(isCallers ? 400 : 500, "bad_request", String(error)));
    }
  }

  #serveCreate(request: CreateRequest, complete: boolean, response: ServerResponse): void {
    const nowMs = this.#clock.now();
    if (!complete) {
      this.#rules.arriveCutShort(request, nowMs);
      return;
    }
    this.#open.add(response);
    this.#continue(this.#rules.create(request, nowMs), response, nowMs);
  }

  /** Takes a story to its next pause; what ends the pause calls this again, in the same turn. */
  #continue(story: RequestStory, response: ServerResponse, nowMs: number): void {
    const step = story.next(nowMs);
    if (step.done === true) {
      this.#open.delete(response);
      send(response, step.value);
      return;
    }
    const pause = step.value;
    const resume = (resumedAtMs: number): void => this.#continue(story, response, resumedAtMs);
    switch (pause.kind) {
      case "wait":
        this.#clock.wait(pause.ms, resume, nowMs);
        return;
      case "park":
        this.#gates.park(pause.gate, () => resume(this.#clock.now()));
        return;
      case "hang-up":
        response.req.socket.destroy();
        resume(nowMs);
    }
  }
}

function createRequest(
  request: IncomingMessage,
  operation: string,
  bodyText: string,
): CreateRequest {
  const kept = Object.entries(request.headers).filter(
    ([name, value]) => typeof value === "string" && /^(x-|idempotency-key$|content-)/.test(name),
  );
  return {
    operation,
    key: headerOf(request, "idempotency-key"),
    tag: headerOf(request, "x-tag"),
    account: headerOf(request, "x-account"),
    bodyText,
    headers: Object.fromEntries(kept) as Record<string, string>,
  };
}

/** The header's value; `null` when it is absent or empty. */
function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : null;
}

async function readBody(request: IncomingMessage): Promise<{ text: string; complete: boolean }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    // The client left; what came is all there is.
  }
  return { text: Buffer.concat(chunks).toString("utf8"), complete: request.complete };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply.kind === "cut") {
    response.req.socket.destroy();
    return;
  }
  const bytes = writeHead(response, reply.answer);
  if (reply.kind === "answer") {
    response.end(bytes);
    return;
  }
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
  response.write(half, () => response.req.socket.destroy());
}

function writeHead(response: ServerResponse, answer: Answer): Buffer {
  const bytes = Buffer.from(JSON.stringify(answer.body), "utf8");
  response.writeHead(answer.status, {
    ...answer.headers,
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  return bytes;
}
