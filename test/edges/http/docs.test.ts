/**
 * The programs in docs/guides/http.md run as they stand, together, and docs/reference/http.md holds the
 * code's table.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import {
  type IdempotentFetch,
  defaultReplayHeaders,
  problemTable,
} from "../../../src/edges/http/index.ts";
import { type Tool, createGuard } from "../../../src/index.ts";
import { openSqlite } from "../../support/stores.ts";
import { programFolder } from "../../support/program-folder.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const guide = readFileSync(join(root, "docs/guides/http.md"), "utf8");
const reference = readFileSync(join(root, "docs/reference/http.md"), "utf8");

const doors: Record<string, string> = {
  '"nevertwice"': "src/index.ts",
  '"nevertwice/http"': "src/edges/http/index.ts",
  '"nevertwice/sqlite"': "src/stores/sqlite/index.ts",
};

it("the guide's client and the guide's server have one refund between them, however often it is asked", async () => {
  const [server, client] = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, code]) => code ?? "",
  );
  const folder = programFolder("http");
  const load = async (name: string, code: string | undefined): Promise<unknown> => {
    const runnable = Object.entries(doors).reduce(
      (text, [door, path]) => text.replaceAll(door, JSON.stringify(join(root, path))),
      code ?? "",
    );
    const placed = runnable.replace('"service.sqlite"', JSON.stringify(join(folder, "s.sqlite")));
    writeFileSync(join(folder, name), placed);
    return import(pathToFileURL(join(folder, name)).href);
  };
  const opened = await openSqlite();
  const { server: listening } = (await load("server.ts", server)) as { server: Server };
  const { send, refund } = (await load("client.ts", client)) as {
    send: IdempotentFetch;
    refund: (url: string) => Tool;
  };
  try {
    const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
    const policy = (await (await fetch(`${url}/idempotency`)).json()) as { routes: object[] };
    expect(policy.routes).toMatchObject([{ name: "refunds.create", key: "required" }]);
    const guard = await createGuard({ store: opened.store });
    const tool = refund(`${url}/refunds`);
    const run = (reason: string) =>
      guard.run(
        tool,
        { orderId: "8812", amountMinor: 48_000, reason },
        { tenant: "acme", trusted: { ticketId: "5521" } },
      );
    const [first, second] = [await run("broken"), await run("in other words")];
    expect(first.value).toEqual({ refunded: 48_000, orderId: "8812" });
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect((await fetch(`${url}/refunds`, { method: "POST", body: "{}" })).status).toBe(400);
  } finally {
    await send.close();
    listening.closeAllConnections();
    listening.close();
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("the reference lists every problem as the code has it", () => {
  const rows = reference
    .split("\n")
    .filter((line) => /^\| `[a-z-]+` +\| \d{3} /.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")))
    .map(([, name, status, code, title]) => [name, Number(status), code, title]);
  expect(rows).toEqual(
    Object.entries(problemTable).map(([name, { status, code, title }]) => [
      name,
      status,
      code,
      title,
    ]),
  );
});

it("the guide lists every header field that is given again", () => {
  const section = /## What is given again\n([\s\S]*?)\n-/.exec(guide)?.[1] ?? "";
  const named = [...section.matchAll(/`([A-Z][A-Za-z-]+)`/g)].map(([, name]) =>
    (name ?? "").toLowerCase(),
  );
  expect(named.toSorted()).toEqual(defaultReplayHeaders);
});
