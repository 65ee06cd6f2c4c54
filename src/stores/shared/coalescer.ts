/**
 * Group commit: what arrives while a statement is under way goes out together as one multi-row
 * statement; a call that is alone goes out at once.
 *
 * @module
 */

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** How to run a batch. */
export interface CoalescerOptions<Item, Result> {
  /** Items with the same name never share a batch: one statement can't touch a row twice. */
  readonly nameOf: (item: Item | Result) => string;
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly maxItems: number;
  /** True when one item may have spoilt the statement for the others. */
  readonly isPoison: (error: unknown) => boolean;
  /** Calls back as soon as everything that is ready has been added. */
  readonly defer: (flush: () => void) => void;
}

/** Collects items and runs them in batches, one batch at a time. */
export class Coalescer<Item, Result> {
  readonly #options: CoalescerOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #running = false;

  constructor(options: CoalescerOptions<Item, Result>) {
    this.#options = options;
  }

  /** Resolves to the row of this item, or undefined when the statement returned none for it. */
  add(item: Item): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      this.#options.defer(() => void this.#drain());
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runBatch(this.#takeBatch());
    this.#running = false;
  }

  #takeBatch(): Map<string, Waiting<Item, Result>> {
    const { nameOf, maxItems } = this.#options;
    const batch = new Map<string, Waiting<Item, Result>>();
    const rest: Waiting<Item, Result>[] = [];
    for (const waiting of this.#waiting) {
      const name = nameOf(waiting.item);
      if (batch.size < maxItems && !batch.has(name)) batch.set(name, waiting);
      else rest.push(waiting);
    }
    this.#waiting = rest;
    return batch;
  }

  async #runBatch(batch: Map<string, Waiting<Item, Result>>): Promise<void> {
    const { nameOf, run, isPoison } = this.#options;
    try {
      // In order of name, so that two processes lock rows in the same order.
      const names = [...batch.keys()].toSorted();
      const items = names.map((name) => (batch.get(name) as Waiting<Item, Result>).item);
      const results = new Map((await run(items)).map((result) => [nameOf(result), result]));
      for (const [name, waiting] of batch) waiting.resolve(results.get(name));
    } catch (error) {
      if (batch.size > 1 && isPoison(error)) {
        for (const [name, waiting] of batch) await this.#runBatch(new Map([[name, waiting]]));
      } else {
        for (const waiting of batch.values()) waiting.reject(error);
      }
    }
  }
}
