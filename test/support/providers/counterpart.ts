/**
 * A provider's local counterpart: a real HTTP server that keeps keys and effects as the provider's
 * documents say, takes faults, and holds the ledger by which tests judge. What differs from one
 * provider to the other is in its rules.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One HTTP request, read to its end. */
export interface Incoming {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that asks for an effect. */
export interface Send extends Incoming {
  readonly key: string | undefined;
}

/** One effect in the ledger. `resource` is as the provider shows it; tests may change it. */
export interface Effect {
  readonly atMs: number;
  resource: Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How the provider treats keys; without this part it takes none. */
export interface KeyRules {
  readonly retentionMs: number;
  /** Whether the key keeps this answer. */
  saves(answer: Answer): boolean;
  /** The saved answer, as a repeat gets it. Default: as it was. */
  replay?(answer: Answer): Answer;
  readonly mismatch: Answer;
  readonly inFlight: Answer;
}

/** What makes one provider. */
export interface ProviderRules {
  /** True for a request that asks for an effect. All others are answered by `look`. */
  isCreate(request: Incoming): boolean;
  keyOf(request: Incoming): string | undefined;
  readonly keys?: KeyRules;
  /** The resource that a create makes, or the provider's refusal of it. */
  create(request: Incoming, id: string, ledger: readonly Effect[]): Created;
  /** The answer to a create. */
  show(effect: Effect): Answer;
  /** The provider's own error with this status. */
  refusal(status: number, code?: string): Answer;
  /** Answers everything that is no create, from the effects that can be seen by now. */
  look(request: Incoming, visible: readonly Effect[]): Answer;
}

export type Created = { readonly resource: Record<string, unknown> } | { readonly refusal: Answer };

/** What goes wrong with one create. Each create takes one, in order of arrival. */
export type Fault =
  | { readonly pass: true }
  /** The provider's own error, in the place of the effect; kept under the key if its rules say so. */
  | { readonly refuse: number; readonly code?: string }
  /** The effect, with these members other than usual. */
  | { readonly makes: Readonly<Record<string, unknown>> }
  /** A gateway's error, without the effect or after it; the key keeps what the provider did. */
  | { readonly gateway: number; readonly effect: boolean }
  /** The same without the effect, and with the wish to be asked again at once. */
  | { readonly askAgain: number }
  /** The wish that the request be sent to another place. */
  | { readonly redirect: string }
  /** The connection is cut, without the effect or after it. */
  | { readonly reset: "before" | "after" }
  /** No answer ever comes, without the effect or after it. */
  | { readonly hang: "before" | "after" }
  /** The effect, and half of its answer. */
  | { readonly truncate: true }
  /** The request waits with its key taken until `release`. */
  | { readonly hold: true };

interface SavedKey {
  readonly fingerprint: string;
  readonly atMs: number;
  /** Null while the first request runs. */
  answer: Answer | null;
}

/** A provider that listens on 127.0.0.1. */
export class Counterpart {
  url = "";
  readonly sends: Send[] = [];
  readonly looks: Incoming[] = [];
  readonly effects: Effect[] = [];
  /** How long an effect stays invisible to look-ups. */
  lagMs = 0;
  readonly #rules: ProviderRules;
  readonly #keys = new Map<string, SavedKey>();
  readonly #server: Server;
  #faults: Fault[] = [];
  #held: (() => void)[] = [];
  #silent = 0;
  #watchers: (() => void)[] = [];
  #nowMs = 1_780_000_000_000;

  private constructor(rules: ProviderRules) {
    this.#rules = rules;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 0;
  }

  static async start(rules: ProviderRules): Promise<Counterpart> {
    const counterpart = new Counterpart(rules);
    await new Promise<void>((resolve) => counterpart.#server.listen(0, "127.0.0.1", resolve));
    const { port } = counterpart.#server.address() as AddressInfo;
    counterpart.url = `http://127.0.0.1:${port}`;
    return counterpart;
  }

  fault(...faults: Fault[]): void {
    this.#faults.push(...faults);
  }

  advance(spanMs: number): void {
    this.#nowMs += spanMs;
  }

  /** Puts an effect into the ledger that nobody of ours asked for. */
  plant(resource: Record<string, unknown>): Effect {
    return this.#land(resource);
  }

  /** Resolves when as many creates wait as `count` says. */
  held(count = 1): Promise<void> {
    return this.#until(() => this.#held.length >= count);
  }

  /** Resolves when a create is left without an answer, or with half of one. */
  silent(): Promise<void> {
    return this.#until(() => this.#silent > 0);
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => void this.#watchers.push(resolve));
  }

  #tellWatchers(): void {
    for (const tell of this.#watchers.splice(0)) tell();
  }

  #fallSilent(): void {
    this.#silent += 1;
    this.#tellWatchers();
  }

  release(): void {
    for (const resume of this.#held.splice(0)) resume();
  }

  /** Forgets sends, effects, keys and faults. */
  reset(): void {
    this.sends.length = 0;
    this.looks.length = 0;
    this.effects.length = 0;
    this.lagMs = 0;
    this.#keys.clear();
    this.#faults = [];
    this.#held = [];
    this.#silent = 0;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const request = await read(message);
    if (request === undefined) return;
    if (this.#rules.isCreate(request)) return this.#create(request, response);
    this.looks.push(request);
    const visible = this.effects.filter(({ atMs }) => atMs + this.lagMs <= this.#nowMs);
    write(response, this.#rules.look(request, visible));
  }

  async #create(request: Incoming, response: ServerResponse): Promise<void> {
    this.sends.push({ ...request, key: this.#rules.keyOf(request) });
    const fault = this.#faults.shift() ?? { pass: true };
    if ("gateway" in fault && !fault.effect)
      return write(response, gatewayAnswer(fault.gateway, false));
    if ("redirect" in fault)
      return write(response, { status: 308, headers: { location: fault.redirect }, body: "" });
    if ("askAgain" in fault) return write(response, askAgain(fault.askAgain));
    if ("reset" in fault && fault.reset === "before") return void response.req.socket.destroy();
    if ("hang" in fault && fault.hang === "before") return this.#fallSilent();
    const answer = await this.#execute(request, fault);
    if ("gateway" in fault) return write(response, gatewayAnswer(fault.gateway, true));
    if ("reset" in fault) return void response.req.socket.destroy();
    if ("hang" in fault) return this.#fallSilent();
    write(response, answer, "truncate" in fault);
    if ("truncate" in fault) this.#fallSilent();
  }

  async #execute(request: Incoming, fault: Fault): Promise<Answer> {
    const { keys } = this.#rules;
    const key = this.#rules.keyOf(request);
    if (keys === undefined || key === undefined) return this.#run(request, fault);
    const known = this.#known(key, keys);
    const fingerprint = `${request.method} ${request.path}\n${request.body}`;
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) return keys.mismatch;
      if (known.answer === null) return keys.inFlight;
      return keys.replay?.(known.answer) ?? known.answer;
    }
    const saved: SavedKey = { fingerprint, atMs: this.#nowMs, answer: null };
    this.#keys.set(key, saved);
    const answer = await this.#run(request, fault);
    if (keys.saves(answer)) saved.answer = answer;
    else this.#keys.delete(key);
    return answer;
  }

  #known(key: string, { retentionMs }: KeyRules): SavedKey | undefined {
    const known = this.#keys.get(key);
    return known !== undefined && this.#nowMs < known.atMs + retentionMs ? known : undefined;
  }

  async #run(request: Incoming, fault: Fault): Promise<Answer> {
    if ("refuse" in fault) return this.#rules.refusal(fault.refuse, fault.code);
    if ("hold" in fault) {
      await new Promise<void>((resolve) => {
        this.#held.push(resolve);
        this.#tellWatchers();
      });
    }
    const created = this.#rules.create(request, this.#nextId(), this.effects);
    if ("refusal" in created) return created.refusal;
    const made = "makes" in fault ? { ...created.resource, ...fault.makes } : created.resource;
    return this.#rules.show(this.#land(made));
  }

  #nextId(): string {
    return String(1001 + this.effects.length);
  }

  #land(resource: Record<string, unknown>): Effect {
    const effect = { atMs: this.#nowMs, resource };
    this.effects.push(effect);
    return effect;
  }
}

/** An answer in JSON. */
export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify(body),
  };
}

/**
 * What stands in front of a provider and speaks in its place: JSON, but not the provider's. Some name an
 * `error`, which many SDKs look for, and some don't.
 */
function gatewayAnswer(status: number, namesError: boolean): Answer {
  const message = `upstream answered ${status}`;
  return json(status, namesError ? { error: { message } } : { message });
}

function askAgain(status: number): Answer {
  const answer = gatewayAnswer(status, false);
  return { ...answer, headers: { ...answer.headers, "retry-after": "0" } };
}

async function read(message: IncomingMessage): Promise<Incoming | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  const url = new URL(message.url ?? "/", "http://provider");
  const headers = Object.entries(message.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: message.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

function write(response: ServerResponse, answer: Answer, truncated = false): void {
  const bytes = Buffer.from(answer.body, "utf8");
  response.writeHead(answer.status, { ...answer.headers, "content-length": bytes.length });
  if (!truncated) return void response.end(bytes);
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
  response.write(half, () => response.req.socket.destroy());
}
