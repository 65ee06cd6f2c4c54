/**
 * The machine as the guard sees it: a clock for short spans, random ids, timers that can be called off.
 */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Runtime, pause, startTimer, systemRuntime } from "../../src/base/runtime.ts";

/** A runtime whose timers fire when the test says so. */
class ManualRuntime implements Runtime {
  readonly waiting: { readonly spanMs: number; readonly callback: () => void }[] = [];
  monotonicMs = (): number => 0;
  randomId = (): string => "id";

  after(spanMs: number, callback: () => void): () => void {
    const timer = { spanMs, callback };
    this.waiting.push(timer);
    return () => {
      const at = this.waiting.indexOf(timer);
      if (at >= 0) this.waiting.splice(at, 1);
    };
  }

  fire(): void {
    for (const { callback } of this.waiting.splice(0)) callback();
  }
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

describe("the real machine", () => {
  it("has a clock that never steps back, also when the wall clock does", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const before = systemRuntime.monotonicMs();
    vi.setSystemTime(0);
    expect(systemRuntime.monotonicMs()).toBeGreaterThanOrEqual(before);
  });

  it("makes ids that are never the same", () => {
    const ids = Array.from({ length: 1000 }, () => systemRuntime.randomId());
    expect(new Set(ids).size).toBe(1000);
  });

  it("calls back once after the span, and not at all when it is called off", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const kept = vi.fn<() => void>();
    const calledOff = vi.fn<() => void>();
    systemRuntime.after(1000, kept);
    const cancel = systemRuntime.after(1000, calledOff);
    vi.advanceTimersByTime(999);
    expect(kept).not.toHaveBeenCalled();
    cancel();
    vi.advanceTimersByTime(5000);
    expect(kept).toHaveBeenCalledOnce();
    expect(calledOff).not.toHaveBeenCalled();
  });

  it("waits long when the span is longer than a timer can hold, instead of firing at once", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const callback = vi.fn<() => void>();
    systemRuntime.after(2 ** 31 + 1000, callback);
    vi.advanceTimersByTime(2 ** 31 - 2);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledOnce();
  });
});

describe("a timer", () => {
  it("rings once after its span", async () => {
    const runtime = new ManualRuntime();
    const timer = startTimer(runtime, 500);
    expect(runtime.waiting.map(({ spanMs }) => spanMs)).toEqual([500]);
    expect(await isSettled(timer.rung)).toBe(false);
    runtime.fire();
    await expect(timer.rung).resolves.toBeUndefined();
  });

  it("never rings once it is stopped", async () => {
    const runtime = new ManualRuntime();
    const timer = startTimer(runtime, 500);
    timer.stop();
    expect(runtime.waiting).toEqual([]);
    runtime.fire();
    expect(await isSettled(timer.rung)).toBe(false);
  });
});

describe("a pause", () => {
  it("ends after its span and not before", async () => {
    const runtime = new ManualRuntime();
    const paused = pause(runtime, 500);
    expect(runtime.waiting.map((timer) => timer.spanMs)).toEqual([500]);
    expect(await isSettled(paused)).toBe(false);
    runtime.fire();
    await expect(paused).resolves.toBeUndefined();
  });

  it("ends at once when the signal aborts, and leaves neither timer nor listener behind", async () => {
    const runtime = new ManualRuntime();
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const paused = pause(runtime, 500, controller.signal);
    expect(await isSettled(paused)).toBe(false);
    controller.abort();
    await expect(paused).resolves.toBeUndefined();
    expect(runtime.waiting).toEqual([]);
    expect(removed).toHaveBeenCalledOnce();
  });

  it("does not begin when the signal has aborted before", async () => {
    const runtime = new ManualRuntime();
    await expect(pause(runtime, 500, AbortSignal.abort())).resolves.toBeUndefined();
    expect(runtime.waiting).toEqual([]);
  });

  it("takes its listener away when the span ends", async () => {
    const runtime = new ManualRuntime();
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    const paused = pause(runtime, 500, signal);
    runtime.fire();
    await paused;
    expect(removed).toHaveBeenCalledWith("abort", expect.any(Function));
  });
});
