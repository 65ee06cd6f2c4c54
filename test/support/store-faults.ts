/**
 * Faults between the guard and its store: calls that are dropped, whose acknowledgement is lost, or
 * at which the process dies. And named points at which a guard can be stopped.
 */
import { NeverTwiceError } from "../../src/index.ts";
import type { GuardOptions, PointName, Store } from "../../src/index.ts";
import { type Runtime, systemRuntime } from "../../src/base/runtime.ts";

export type StoreMethod = Exclude<keyof Store, "migrate" | "inspect" | "lateLooks">;

/** Gets each call of the store; `call` makes it. */
export type Intercept = (
  method: StoreMethod,
  call: () => Promise<unknown>,
  params: unknown,
) => Promise<unknown>;

/** The same store with every call but start-up's led through `intercept`. */
export function interceptStore(store: Store, intercept: Intercept): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "migrate" || name === "inspect") {
        return typeof member === "function" ? member.bind(target) : member;
      }
      const call = (params: unknown): Promise<unknown> =>
        intercept(
          name as StoreMethod,
          async () => (await member.call(target, params)) as unknown,
          params,
        );
      return call;
    },
  });
}

/** What a store says whose database is away. */
export function unavailable(): NeverTwiceError {
  return new NeverTwiceError("STORE_UNAVAILABLE", "The store answers: it is away.");
}

/** Which calls {@link dropCalls} drops. */
export interface Drop {
  readonly methods: readonly StoreMethod[];
  /** `before` they apply, or `after`, so that only the acknowledgement is lost. */
  readonly when: "before" | "after";
  /** The first so many calls are hit; then the store is well again. Default: all. */
  readonly times?: number;
  /** Told of each dropped call; moves a clock, for example. */
  readonly onDrop?: () => void;
}

/** A store that doesn't answer some calls. */
export function dropCalls(store: Store, drop: Drop): Store {
  let left = drop.times ?? Number.POSITIVE_INFINITY;
  return interceptStore(store, async (method, call) => {
    if (!drop.methods.includes(method) || left <= 0) return call();
    left -= 1;
    if (drop.when === "after") await call();
    drop.onDrop?.();
    throw unavailable();
  });
}

/** A store at whose n-th call the process dies: `before` or `after` the call applies. */
export interface CrashingStore {
  readonly store: Store;
  /** Resolves at the crash. Nothing that the dead process waits for ever comes. */
  readonly crashed: Promise<"crashed">;
  /** Methods called so far, the deadly one included. */
  readonly calls: readonly StoreMethod[];
}

export function crashingStore(
  store: Store,
  atCall: number,
  when: "before" | "after",
): CrashingStore {
  const calls: StoreMethod[] = [];
  let crash: (word: "crashed") => void = () => {};
  const crashed = new Promise<"crashed">((resolve) => (crash = resolve));
  const never = new Promise<never>(() => {});
  const intercepted = interceptStore(store, async (method, call) => {
    if (calls.length >= atCall) return never;
    calls.push(method);
    if (calls.length < atCall) return call();
    if (when === "after") await call();
    crash("crashed");
    return never;
  });
  return { store: intercepted, crashed, calls };
}

/** A place where a guard stands still until it is let go; for ever is a crash. */
export interface Stop {
  readonly onPoint: NonNullable<GuardOptions["onPoint"]>;
  /** Resolves when somebody stands there; throws when `running` ends without having come by. */
  reached(running: Promise<unknown>): Promise<void>;
  release(): void;
}

/** Stops the first that comes to the point. */
export function stopAt(name: PointName): Stop {
  let arrive = (): void => {};
  let release = (): void => {};
  let stopped = false;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  return {
    onPoint: (point) => {
      if (point.name !== name || stopped) return;
      stopped = true;
      arrive();
      return released;
    },
    reached: (running) =>
      Promise.race([
        arrived,
        running.then(() => {
          throw new Error(`the call ended without coming by ${name}`);
        }),
      ]),
    release: () => release(),
  };
}

/** Does something the first time that a guard comes by the point. */
export function once(name: PointName, act: () => void | Promise<void>): Pick<Stop, "onPoint"> {
  let done = false;
  return {
    onPoint: (point) => {
      if (point.name !== name || done) return;
      done = true;
      return act();
    },
  };
}

/** A machine whose monotonic clock a test can move on. */
export interface MovableRuntime extends Runtime {
  move(spanMs: number): void;
}

export function movableRuntime(): MovableRuntime {
  let movedMs = 0;
  return {
    ...systemRuntime,
    monotonicMs: () => systemRuntime.monotonicMs() + movedMs,
    move: (spanMs) => void (movedMs += spanMs),
  };
}

/** A machine on which a pause of up to 100 ms is over at once, and has taken its time all the same. */
export function hurriedRuntime(): Runtime {
  const runtime = movableRuntime();
  return {
    ...runtime,
    after: (spanMs, act) => {
      if (spanMs > 100) return systemRuntime.after(spanMs, act);
      return systemRuntime.after(0, () => {
        runtime.move(spanMs);
        act();
      });
    },
  };
}

/** A machine on which what waits for one span hears from a test that it is over, and from no clock. */
export interface RingingRuntime extends Runtime {
  /** Calls back everything that waits for the span by now. */
  ring(): void;
}

export function ringingRuntime(ringingSpanMs: number): RingingRuntime {
  const waiting = new Set<() => void>();
  return {
    ...systemRuntime,
    after: (spanMs, callback) => {
      if (spanMs !== ringingSpanMs) return systemRuntime.after(spanMs, callback);
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
    ring: () => {
      for (const callback of waiting) {
        waiting.delete(callback);
        callback();
      }
    },
  };
}

/** Rejects when the promise doesn't settle within a minute of real time. */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  let cancel = (): void => {};
  const tooLate = new Promise<never>((_, reject) => {
    cancel = systemRuntime.after(60_000, () => reject(new Error("did not end within 60 s")));
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    cancel();
  }
}
