/**
 * The message brokers of this machine. One that can't be reached is a loud skip, and a failure where
 * every part is required.
 */
import { connect as connectTcp } from "node:net";
import { everyPartRequired, warnLoudly } from "./postgres-server.ts";

export const rabbitMqUrl =
  process.env["NEVERTWICE_TEST_RABBITMQ_URL"] ?? "amqp://guest:guest@127.0.0.1:5672";
export const natsUrl = process.env["NEVERTWICE_TEST_NATS_URL"] ?? "nats://127.0.0.1:4222";

/** True when the broker answers; throws when it doesn't and must. */
export async function brokerIsThere(name: string, url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const reached = await new Promise<boolean>((resolve) => {
    // Long: a process that stood still hears of the time-out before it hears of the connection.
    const socket = connectTcp({ host: hostname, port: Number(port), timeout: 30_000 });
    const end = (there: boolean) => () => {
      socket.destroy();
      resolve(there);
    };
    socket.on("connect", end(true)).on("error", end(false)).on("timeout", end(false));
  });
  if (reached) return true;
  const missing = `${name} can't be reached at ${hostname}:${port}, every test that needs it is SKIPPED.`;
  if (everyPartRequired()) throw new Error(missing);
  warnLoudly(missing);
  return false;
}
