/** The worker's side of `processes.ts`: a process that obeys commands and reports where it is. */

/** What a worker can do, by name. Parameters and results cross a process boundary: plain data only. */
export type Commands = Record<string, (params: never) => unknown>;

/** From the parent. */
export interface Order {
  readonly id: number;
  readonly command: string;
  readonly params: unknown;
}

/** To the parent. */
export type Report =
  | { readonly type: "ready" }
  | { readonly type: "event"; readonly event: string }
  | { readonly type: "result"; readonly id: number; readonly result: unknown }
  | {
      readonly type: "error";
      readonly id: number;
      readonly code: string;
      readonly message: string;
    };

/** Obeys the parent until it goes away. */
export function obey(commands: Commands): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (order: Order) => void carryOut(commands, order));
  tellParent({ type: "ready" });
}

/** Tells the parent that this worker has come to a certain place. */
export function report(event: string): void {
  tellParent({ type: "event", event });
}

async function carryOut(commands: Commands, { id, command, params }: Order): Promise<void> {
  try {
    const run = commands[command];
    if (run === undefined) throw new Error(`no command ${command}`);
    tellParent({ type: "result", id, result: await run(params as never) });
  } catch (error) {
    const { code } = error as { code?: unknown };
    tellParent({ type: "error", id, code: String(code), message: String(error) });
  }
}

function tellParent(message: Report): void {
  process.send?.(message);
}
