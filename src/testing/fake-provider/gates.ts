/** Named gates at which requests wait until a test lets them go on. */
export class Gates {
  #parked = new Map<string, (() => void)[]>();
  #watchers = new Set<Watcher>();

  /** Parks a request; `resume` is called when the gate is released. */
  park(gate: string, resume: () => void): void {
    const queue = this.#parked.get(gate) ?? [];
    queue.push(resume);
    this.#parked.set(gate, queue);
    for (const watcher of this.#watchers) {
      if (watcher.gate === gate && queue.length >= watcher.count) this.#tell(watcher, true);
    }
  }

  /**
   * Lets everybody at the gate go on, in order of arrival and in this very turn; later ones wait
   * again. Throws if nobody waits: a test that releases too early should hear of it.
   */
  release(gate: string): void {
    const queue = this.#parked.get(gate);
    if (queue === undefined) throw new Error(`nobody is parked at gate "${gate}"`);
    this.#parked.delete(gate);
    for (const resume of queue) resume();
  }

  /** The gate of each request that waits; a gate with two requests is there twice. */
  names(): readonly string[] {
    return [...this.#parked].flatMap(([gate, queue]) => queue.map(() => gate));
  }

  /**
   * Resolves with true as soon as `count` requests wait at the gate together, with false when
   * `limitMs` of real time have passed or everything was cleared before that.
   */
  whenParked(gate: string, count: number, limitMs: number): Promise<boolean> {
    if ((this.#parked.get(gate)?.length ?? 0) >= count) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#tell(watcher, false), limitMs);
      const watcher: Watcher = { gate, count, timer, resolve };
      this.#watchers.add(watcher);
    });
  }

  /** Forgets everybody who waits, unresumed, and ends every watch. */
  clear(): void {
    this.#parked = new Map();
    for (const watcher of this.#watchers) this.#tell(watcher, false);
  }

  #tell(watcher: Watcher, parked: boolean): void {
    this.#watchers.delete(watcher);
    clearTimeout(watcher.timer);
    watcher.resolve(parked);
  }
}

interface Watcher {
  readonly gate: string;
  readonly count: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (parked: boolean) => void;
}
