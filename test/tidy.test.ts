/**
 * The rules of the house, as a test: floors, limits, clocks, doors, the stage table.
 */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { errorCodes, errorTable } from "../src/base/error-table.ts";
import { journalEvents } from "../src/ledger/journal.ts";
import { statuses } from "../src/ledger/status.ts";
import { statements } from "../src/stores/postgres/sql.generated.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = filesUnder("src").filter(
  (file) => file.endsWith(".ts") && !file.endsWith(".generated.ts"),
);

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = `${folder}/${name}`;
    return statSync(join(root, path)).isDirectory() ? filesUnder(path) : [path];
  });
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Floors of DESIGN: what each room may import of ours. */
const floors: Record<string, readonly string[]> = {
  base: [],
  intent: ["base"],
  ledger: ["base", "intent"],
  guard: ["base", "intent", "ledger"],
  "stores/shared": ["base", "intent", "ledger"],
  "stores/sqlite": ["base", "intent", "ledger", "stores/shared"],
  "stores/postgres": ["base", "intent", "ledger", "stores/shared"],
  effects: ["base", "intent", "ledger", "guard"],
  flow: ["base", "intent", "ledger", "guard", "effects"],
  "edges/engines": ["base", "intent", "ledger", "guard", "effects", "flow"],
  "edges/events": ["base", "intent", "ledger", "guard", "effects", "flow"],
  "edges/providers": ["base", "intent", "ledger", "guard", "effects"],
  "edges/mcp": ["base", "intent", "ledger", "guard"],
  "edges/http": ["base", "intent", "ledger", "guard", "effects"],
  testing: ["base", "intent", "ledger", "guard", "stores/shared", "stores/sqlite"],
  gateway: ["base", "intent", "ledger", "guard", "edges/mcp"],
  cli: [
    "base",
    "intent",
    "ledger",
    "guard",
    "effects",
    "flow",
    "stores/shared",
    "stores/sqlite",
    "stores/postgres",
    "edges/providers",
    "testing",
    "gateway",
  ],
};

function roomOf(path: string): string | undefined {
  return Object.keys(floors).find((room) => path.startsWith(`src/${room}/`));
}

it("imports go down the floors only", () => {
  const climbing = sources.flatMap((file) => {
    const room = roomOf(file);
    if (room === undefined) return file === "src/index.ts" ? [] : [`${file} is in no room`];
    const imports = [...read(file).matchAll(/from "(\.[^"]+)"|import\("(\.[^"]+)"\)/g)];
    return imports.flatMap(([, named, dynamic]) => {
      const target = join(file, "..", named ?? dynamic ?? "");
      const to = roomOf(target);
      const allowed = to === room || (to !== undefined && (floors[room] ?? []).includes(to));
      return allowed ? [] : [`${file} imports ${target}`];
    });
  });
  expect(climbing).toEqual([]);
});

it("the linter has the same floors", () => {
  const { overrides } = JSON.parse(read(".oxlintrc.json")) as {
    overrides: { files: string[]; rules: Record<string, unknown> }[];
  };
  const rooms = overrides.filter(({ files }) => files[0]?.startsWith("src/"));
  expect(rooms).toEqual(Object.entries(floors).map(([room, below]) => linted(room, below)));
});

/** What the linter is to refuse in a room. From a neighbour's door, its parent isn't in the path. */
function linted(room: string, below: readonly string[]): object {
  const [parent = ""] = room.split("/");
  const shut = Object.keys(floors)
    .filter((other) => other !== room && !below.includes(other))
    .flatMap((other) =>
      other.startsWith(`${parent}/`) ? [other, other.slice(parent.length + 1)] : [other],
    );
  const regex = `^\\.\\.?/(?:.*/)?(?:${shut.join("|")})/`;
  const message = `${room} imports only ${below.length === 0 ? "itself" : below.join(", ")}.`;
  const patterns = [{ regex, message }];
  return {
    files: [`src/${room}/**`],
    rules: { "no-restricted-imports": ["error", { patterns }] },
  };
}

it("no file is longer than 400 lines, and lines are at most 120 characters of code", () => {
  const files = [...sources, ...filesUnder("test").filter((file) => file.endsWith(".ts"))];
  expect(files.filter((file) => read(file).split("\n").length > 401)).toEqual([]);
});

it("below the edges only base/runtime.ts touches clocks, timers, randomness and the network", () => {
  const banned =
    /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|randomUUID|setTimeout|setInterval|AbortSignal\.timeout|process\.nextTick|fetch)\b/;
  const rooms = [
    "src/base/",
    "src/intent/",
    "src/ledger/",
    "src/guard/",
    "src/stores/",
    "src/effects/",
    "src/flow/",
  ];
  const touching = sources.filter(
    (file) => rooms.some((room) => file.startsWith(room)) && banned.test(read(file)),
  );
  expect(touching).toEqual(["src/base/runtime.ts"]);
});

it("no enum, no any, no leftover notes, no delivery promise that nobody can keep", () => {
  const texts = [...sources, ...filesUnder("docs"), "README.md", "ARCHITECTURE.md"];
  const leftovers = texts.filter((file) =>
    /\b(TODO|FIXME|XXX)\b|exactly-once delivery/i.test(read(file)),
  );
  expect(leftovers).toEqual([]);
});

it("every door in package.json has its source, and every source door is in package.json", () => {
  const doors = Object.values(packageJson.exports)
    .filter((entry) => typeof entry === "object" && entry !== null)
    .map((entry) => entry.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
  expect(doors.toSorted()).toEqual([
    "src/edges/engines/*.ts",
    "src/edges/events/nats.ts",
    "src/edges/events/rabbitmq.ts",
    "src/edges/events/webhooks.ts",
    "src/edges/http/index.ts",
    "src/edges/mcp/index.ts",
    "src/edges/providers/*.ts",
    "src/edges/providers/index.ts",
    "src/index.ts",
    "src/stores/postgres/index.ts",
    "src/stores/sqlite/index.ts",
    "src/testing/index.ts",
  ]);
  for (const door of doors.filter((each) => !each.includes("*"))) {
    expect(statSync(join(root, door)).isFile()).toBe(true);
  }
});

it("docs/reference/errors.md holds the error table, in order of precedence", () => {
  const lines = read("docs/reference/errors.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const rows = lines.map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")));
  expect(rows.map(([, code]) => code)).toEqual(errorCodes);
  for (const [, code, status, actor, sameCall, meaning] of rows) {
    const entry = errorTable[code as keyof typeof errorTable];
    expect({ code, status, actor, sameCall, meaning }).toEqual({
      code,
      status: String(entry.httpStatus),
      actor: entry.actor,
      sameCall: entry.sameCall,
      meaning: entry.meaning,
    });
  }
});

it("the stage table in ARCHITECTURE.md names files, statements, statuses, events and codes that exist", () => {
  const section = /## Stages\n([\s\S]*?)\n## /.exec(read("ARCHITECTURE.md"))?.[1] ?? "";
  const rows = section
    .split("\n")
    .filter(
      (line) => line.startsWith("| ") && !line.startsWith("| stage") && !line.startsWith("| ---"),
    );
  expect(rows).toHaveLength(8);
  for (const row of rows) {
    const [, , functions, sql, after, events, codes] = row.split("|").map((cell) => cell.trim());
    for (const file of ticked(functions).filter((name) => name.endsWith(".ts"))) {
      expect(sources, row).toContain(`src/guard/${file}`);
    }
    for (const name of ticked(sql)) expect(Object.keys(statements), row).toContain(name);
    for (const name of ticked(after)) expect(statuses, row).toContain(name);
    for (const name of ticked(events)) expect(journalEvents, row).toContain(name);
    for (const name of ticked(codes)) expect(errorCodes, row).toContain(name);
  }
  const told = new Set(rows.flatMap((row) => ticked(row.split("|")[5])));
  const besides = ["operation.repeated", "operation.incident", "operation.purged"];
  expect([...told, ...besides].toSorted()).toEqual([...journalEvents].toSorted());
});

function ticked(cell: string | undefined): string[] {
  return [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "");
}
