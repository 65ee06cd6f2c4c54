/** A wire to PostgreSQL that a test can cut or let fall silent. */
import { type Server, type Socket, connect, createServer } from "node:net";

/** A proxy in front of one database. */
export interface Wire {
  /** The database's URL by way of the proxy. */
  readonly url: string;
  /** Cuts every connection and takes no new one. */
  cut(): void;
  /** Takes new connections again. */
  mend(): void;
  /** Leads every new connection to another database. */
  lead(databaseUrl: string): void;
  /** Passes nothing on any more, on whatever connection; they stay open. */
  silence(): void;
  close(): Promise<void>;
}

/** Starts the proxy on a free port of this machine. */
export async function layWire(databaseUrl: string): Promise<Wire> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const state = { cut: false, silent: false };
  const server = createServer((near) => {
    if (state.cut) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    join(near, far, state);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    }
  });
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${await listen(server)}`;
  return {
    url: url.href,
    cut: () => {
      state.cut = true;
      destroyAll();
    },
    mend: () => Object.assign(state, { cut: false, silent: false }),
    lead: (to) => void (target = new URL(to)),
    silence: () => void (state.silent = true),
    close: async () => {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function join(near: Socket, far: Socket, state: { readonly silent: boolean }): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on("data", (bytes: Buffer) => {
      if (!state.silent) to.write(bytes);
    });
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}
