/**
 * A worker process under load: many callers, each with one intent after the other, through a guard with
 * a pool of its own. A caller whose call fails comes back until it has an answer that is recorded; one
 * in seven never comes back, and its operation is left to the sweeper.
 */
import pg from "pg";
import { type Guard, type Tool, createGuard, isNeverTwiceError } from "../../src/index.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { createProviderClient } from "../../src/testing/fake-provider/index.ts";
import { obey } from "../support/worker-commands.ts";
import { type ToolName, loadTools, toolNames } from "./load-tools.ts";

/** Everything a worker needs to begin. */
export interface LoadOrder {
  readonly url: string;
  readonly providerUrl: string;
  /** Which of the two workers: each leaves out another quarter of the orders, and they share half. */
  readonly worker: 0 | 1;
  readonly callers: number;
  /** Begins every order's number, so that two loads share none. */
  readonly prefix: string;
}

/** A call of which a caller was told that it is DONE and recorded. */
export interface Acknowledged {
  readonly tool: ToolName;
  readonly orderId: string;
  readonly key: string;
  readonly value: unknown;
}

/** A whole load, in numbers. */
export interface LoadReport {
  readonly intents: number;
  readonly givenUp: readonly string[];
  /** How often each answer but DONE was given. */
  readonly troubles: Readonly<Record<string, number>>;
}

interface Order {
  readonly tool: ToolName;
  readonly orderId: string;
  readonly staysAway: boolean;
}

class Load {
  readonly acknowledged: Acknowledged[] = [];
  readonly #order: LoadOrder;
  readonly #guard: Guard;
  readonly #tools: Record<ToolName, Tool>;
  readonly #sweeping = new AbortController();
  readonly #comingBack: Promise<void>[] = [];
  readonly #givenUp: string[] = [];
  readonly #troubles: Record<string, number> = {};
  #callers: Promise<void>[] = [];
  #watchers: { count: number; resolve: () => void }[] = [];
  #made = 0;
  #intents = 0;
  #isOver = false;

  constructor(order: LoadOrder, guard: Guard, tools: Record<ToolName, Tool>) {
    this.#order = order;
    this.#guard = guard;
    this.#tools = tools;
  }

  start(): void {
    this.#callers = Array.from({ length: this.#order.callers }, () => this.#call());
    const { signal } = this.#sweeping;
    void this.#guard.keepSweeping({ signal, everyMs: 1000 });
  }

  whenAcknowledged(more: number): Promise<void> {
    const count = this.acknowledged.length + more;
    return new Promise((resolve) => this.#watchers.push({ count, resolve }));
  }

  /** No new intent; resolves when every caller that comes back has its answer. The sweeper goes on. */
  async finish(): Promise<LoadReport> {
    this.#isOver = true;
    await Promise.all(this.#callers);
    await Promise.all(this.#comingBack);
    return { intents: this.#intents, givenUp: this.#givenUp, troubles: this.#troubles };
  }

  stopSweeping(): void {
    this.#sweeping.abort();
  }

  async once(tool: ToolName, orderId: string): Promise<string> {
    const isDone = await this.#run({ tool, orderId, staysAway: true });
    return isDone ? "DONE" : "in doubt";
  }

  async #call(): Promise<void> {
    while (!this.#isOver) {
      const order = this.#next();
      this.#intents += 1;
      if (await this.#run(order)) continue;
      if (order.staysAway) this.#givenUp.push(`${order.tool}:order-${order.orderId}`);
      else this.#comingBack.push(this.#comeBack(order));
    }
  }

  #next(): Order {
    do this.#made += 1;
    while (this.#made % 4 === this.#order.worker);
    return {
      tool: toolNames[Math.floor(this.#made / 4) % 2] ?? "keyed",
      orderId: `${this.#order.prefix}-${this.#made}`,
      staysAway: this.#made % 7 === 0,
    };
  }

  async #comeBack(order: Order): Promise<void> {
    do await new Promise((resolve) => setTimeout(resolve, 200));
    while (!(await this.#run(order)));
  }

  async #run({ tool, orderId }: Order): Promise<boolean> {
    try {
      const outcome = await this.#guard.run(this.#tools[tool], { orderId }, { tenant: "acme" });
      if (!outcome.recorded) return this.#note("not recorded");
      this.#acknowledge({ tool, orderId, key: outcome.key ?? "", value: outcome.value });
      return true;
    } catch (error) {
      return this.#note(isNeverTwiceError(error) ? error.code : String(error));
    }
  }

  #note(trouble: string): false {
    this.#troubles[trouble] = (this.#troubles[trouble] ?? 0) + 1;
    return false;
  }

  #acknowledge(call: Acknowledged): void {
    this.acknowledged.push(call);
    this.#watchers = this.#watchers.filter(({ count, resolve }) => {
      const isDue = this.acknowledged.length >= count;
      if (isDue) resolve();
      return !isDue;
    });
  }
}

let load: Load | undefined;

const commands = {
  /** Returns what start-up warned of. */
  open: async (order: LoadOrder): Promise<readonly string[]> => {
    const pool = new pg.Pool({ connectionString: order.url, max: 6 });
    const store = new PostgresStore(pool, { statementTimeoutMs: 5000 });
    const tools = loadTools(createProviderClient({ url: order.providerUrl }));
    const warnings: string[] = [];
    const guard = await createGuard({
      store,
      tools: Object.values(tools),
      onWarning: ({ message }) => void warnings.push(message),
    });
    load = new Load(order, guard, tools);
    return [...warnings];
  },
  start: (): void => opened().start(),
  whenAcknowledged: ({ more }: { more: number }): Promise<void> => opened().whenAcknowledged(more),
  /** Every call acknowledged so far, but for the first ones. */
  acknowledged: ({ skip }: { skip: number }): readonly Acknowledged[] =>
    opened().acknowledged.slice(skip),
  finish: (): Promise<LoadReport> => opened().finish(),
  stopSweeping: (): void => opened().stopSweeping(),
  /** One call of one intent. */
  once: ({ tool, orderId }: { tool: ToolName; orderId: string }): Promise<string> =>
    opened().once(tool, orderId),
};

/** The commands, for the parent's types. */
export type LoadCommands = typeof commands;

function opened(): Load {
  if (load === undefined) throw new Error("no load is open");
  return load;
}

obey(commands);
