/**
 * What the guard costs beside the two bare statements that a hand-written one would need.
 * See README.md.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createDatabase } from "../test/support/postgres-database.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import {
  loadNow,
  machineFacts,
  measureSync,
  postgresFacts,
  sourceVersion,
} from "./support/machine.ts";
import { type ConfigurationResult, type Plan, measure } from "./support/measure.ts";
import { openPostgresStand } from "./support/postgres-stand.ts";
import {
  type RunReport,
  configurationTable,
  machineLines,
  markdownPage,
  nameOf,
  targetLines,
  targetsOf,
} from "./support/report.ts";
import { openSqliteStand } from "./support/sqlite-stand.ts";
import type { Configuration, Stand } from "./support/stand.ts";

const usage = `Usage: npm run bench -- [options]

  --stores sqlite,postgres       which stores
  --postgres URL                 use this server, in a new database of its own (default: start one)
  --directory DIR                where SQLite's file goes (default: the system's temporary directory)
  --connections 1,16             connections
  --callers 1,16,256             concurrent callers
  --statements unnamed,prepared  how PostgreSQL is asked
  --rounds-factor 1              times as many rounds
  --json                         print the whole report as JSON and no tables
  --no-write                     leave bench/results/ alone
`;

interface Options {
  readonly stores: readonly string[];
  readonly postgres: string | undefined;
  readonly directory: string;
  readonly connections: readonly number[];
  readonly callers: readonly number[];
  readonly statements: readonly string[];
  readonly roundsFactor: number;
  readonly json: boolean;
  readonly write: boolean;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      stores: { type: "string", default: "sqlite,postgres" },
      postgres: { type: "string" },
      directory: { type: "string", default: tmpdir() },
      connections: { type: "string", default: "1,16" },
      callers: { type: "string", default: "1,16,256" },
      statements: { type: "string", default: "unnamed,prepared" },
      "rounds-factor": { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: true },
    },
  });
  return {
    stores: listed("stores", values.stores, ["sqlite", "postgres"]),
    postgres: values.postgres,
    directory: values.directory,
    connections: values.connections.split(",").map((text) => positive("connections", text)),
    callers: values.callers.split(",").map((text) => positive("callers", text)),
    statements: listed("statements", values.statements, ["unnamed", "prepared"]),
    roundsFactor: positive("rounds-factor", values["rounds-factor"]),
    json: values.json,
    write: values.write,
  };
}

function listed(option: string, text: string, known: readonly string[]): readonly string[] {
  const names = text.split(",");
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--${option} doesn't know ${unknown}`);
  return names;
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${option} needs a number above zero, not ${text}`);
  return value;
}

/** The command line as it may be published: a URL may hold a password, a directory a person's name. */
function publishedCommandLine(args: readonly string[]): string {
  const told = args.map((arg, index) => {
    const isSecret = (text: string | undefined): boolean =>
      text === "--postgres" || text === "--directory";
    if (isSecret(args[index - 1])) return "…";
    return isSecret(arg.split("=")[0]) && arg.includes("=") ? `${arg.split("=")[0]}=…` : arg;
  });
  return ["npm run bench --", ...told].join(" ").replace(/ --$/, "");
}

function configurationsOf(options: Options): readonly Configuration[] {
  const { stores, statements, connections, callers } = options;
  return stores.flatMap((store) =>
    (store === "sqlite" ? ["prepared"] : statements).flatMap((statement) =>
      connections.flatMap((count) =>
        callers.map((concurrency) => ({
          store: store as Configuration["store"],
          statements: statement as Configuration["statements"],
          connections: count,
          concurrency,
        })),
      ),
    ),
  );
}

/** More callers make more calls in a block and need fewer rounds. */
function planOf(concurrency: number, roundsFactor: number): Plan {
  const rounds = concurrency === 1 ? 40 : concurrency <= 32 ? 20 : 8;
  return {
    rounds: Math.max(2, Math.round(rounds * roundsFactor)),
    warmUpRounds: concurrency === 1 ? 10 : 3,
    callsPerBlock: concurrency === 1 ? 40 : concurrency * (concurrency <= 32 ? 12 : 4),
  };
}

type OpenStand = (configuration: Configuration) => Promise<Stand>;

async function measureAll(
  options: Options,
  open: OpenStand,
  say: (text: string) => void,
): Promise<readonly ConfigurationResult[]> {
  const results: ConfigurationResult[] = [];
  for (const configuration of configurationsOf(options)) {
    const plan = planOf(configuration.concurrency, options.roundsFactor);
    const stand = await open(configuration);
    try {
      const result = await measure(configuration, stand, plan);
      results.push(result);
      say(`\n${nameOf(configuration)}\n\n${configurationTable(result)}\n`);
    } finally {
      await stand.close();
    }
  }
  return results;
}

/** Runs with a PostgreSQL server if one is wanted, each configuration in an empty database. */
async function withStands<T>(
  options: Options,
  work: (open: OpenStand, serverUrl: string | null) => Promise<T>,
): Promise<T> {
  const openSqlite: OpenStand = ({ connections }) =>
    openSqliteStand(options.directory, connections);
  if (!options.stores.includes("postgres")) return work(openSqlite, null);
  const server =
    options.postgres === undefined
      ? await startPostgres()
      : { url: options.postgres, stop: async () => {} };
  const open: OpenStand = async (configuration) => {
    if (configuration.store === "sqlite") return openSqlite(configuration);
    const database = await createDatabase(server.url);
    const stand = await openPostgresStand({ ...configuration, url: database.url });
    return {
      ...stand,
      close: async () => {
        await stand.close();
        await database.drop();
      },
    };
  };
  try {
    return await work(open, server.url);
  } finally {
    await server.stop();
  }
}

/** `results/<date>.md`, or the next number on a day that has one already. */
function resultsFile(date: string): string {
  const directory = join(dirname(fileURLToPath(import.meta.url)), "results");
  mkdirSync(directory, { recursive: true });
  for (let number = 1; ; number += 1) {
    const file = join(directory, number === 1 ? `${date}.md` : `${date}-${number}.md`);
    if (!existsSync(file)) return file;
  }
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--help")) return void process.stdout.write(usage);
  const options = readOptions(args);
  const say = (text: string): void => void (options.json || process.stdout.write(text));
  const startedAt = new Date().toISOString();
  const machine = machineFacts(options.directory);
  if (machine.fileSystem === "tmpfs") {
    process.stderr.write(
      "The directory is in memory, where a commit costs nothing: use --directory.\n",
    );
  }
  const report = await withStands(options, async (open, url): Promise<RunReport> => {
    const postgres = url === null ? null : await postgresFacts(url);
    const loadBefore = loadNow();
    const syncBefore = measureSync(options.directory);
    const results = await measureAll(options, open, say);
    return {
      startedAt,
      commandLine: publishedCommandLine(args),
      source: sourceVersion(),
      machine,
      postgres,
      syncBefore,
      syncAfter: measureSync(options.directory),
      loadBefore,
      loadAfter: loadNow(),
      results,
      targets: targetsOf(results),
    };
  });
  say(`\n${[...machineLines(report, machine), "", ...targetLines(report)].join("\n")}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (options.write) writeFileSync(resultsFile(startedAt.slice(0, 10)), markdownPage(report));
}

await main(process.argv.slice(2));
