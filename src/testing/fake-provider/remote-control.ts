import { request } from "node:http";

import type { RemoteControl } from "./control.ts";

/** Controls a fake provider in another process, over HTTP. */
export function createRemoteControl(url: string): RemoteControl {
  const get = <Value>(path: string): Promise<Value> => call<Value>("GET", url + path);
  const post = async (path: string, body: object): Promise<void> => {
    await call("POST", url + path, body);
  };
  return {
    ledger: () => get("/ledger"),
    count: async (operation) => {
      const query = operation === undefined ? "" : `?${new URLSearchParams({ operation })}`;
      return (await get<{ count: number }>(`/ledger/count${query}`)).count;
    },
    arrivals: () => get("/arrivals"),
    lookUps: () => get("/look-ups"),
    counters: () => get("/counters"),
    behave: (change) => post("/control/behaviour", change),
    fault: (...steps) => post("/control/faults", { steps }),
    faultAlways: (step) => post("/control/faults", { always: step }),
    advance: (ms) => post("/control/advance", { ms }),
    release: (gate) => post("/control/release", { gate }),
    parked: async (gate, count = 1) => {
      await get(`/control/parked/${encodeURIComponent(gate)}?count=${count}`);
    },
    reset: () => post("/control/reset", {}),
  };
}

/**
 * One call on a connection of its own: a pooled one could belong to a process that was killed and
 * started again on the same port.
 */
async function call<Value>(method: string, url: string, body?: object): Promise<Value> {
  const { status, text } = await new Promise<{ status: number; text: string }>(
    (resolve, reject) => {
      const outgoing = request(url, { method, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const whole = Buffer.concat(chunks).toString("utf8");
          resolve({ status: response.statusCode ?? 0, text: whole });
        });
      });
      outgoing.on("error", reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    },
  );
  if (status !== 200) throw new Error(`${method} ${url} answered ${status}: ${text}`);
  return JSON.parse(text) as Value;
}
