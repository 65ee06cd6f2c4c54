/**
 * A primary and its standby on this machine, behind one address. The primary is killed, the standby
 * promoted, the address led to it, and the next standby made from it, as often as a test likes.
 */
import { randomBytes } from "node:crypto";
import { expect, vi } from "vitest";
import {
  everyPartRequired,
  preparePostgresBinaries,
  warnLoudly,
} from "../support/postgres-server.ts";
import { type Wire, layWire } from "../support/worker-proxy.ts";
import { copyAsStandby } from "./base-backup.ts";
import { type NodeOptions, type PostgresNode, initialise, startNode } from "./postgres-node.ts";

/** Without the embedded PostgreSQL: throws where every part is required, else says so loudly. */
export function isClusterMissing(): boolean {
  try {
    preparePostgresBinaries();
    return false;
  } catch (error) {
    if (everyPartRequired()) throw error;
    warnLoudly(`There is no PostgreSQL to fail over, its tests are SKIPPED.\n${String(error)}`);
    return true;
  }
}

/**
 * `synchronous`: every server is started with the name of its next standby in
 * `synchronous_standby_names`. So a promoted one acknowledges nothing before it has a standby of its
 * own, and there is no time at which an acknowledged write is on one disk only.
 */
export type Replication = "synchronous" | "asynchronous";

export class Cluster {
  readonly #binaries = preparePostgresBinaries();
  readonly #password = randomBytes(12).toString("hex");
  readonly #replication: Replication;
  #made = 0;
  #primary: PostgresNode | undefined;
  #standby: PostgresNode | undefined;
  /** Between a primary and its standby. */
  #link: Wire | undefined;
  #front: Wire | undefined;
  readonly #leaving: Promise<void>[] = [];

  private constructor(replication: Replication) {
    this.#replication = replication;
  }

  /** A primary alone. Where it is synchronous, writes wait until {@link addStandby}. */
  static async start(replication: Replication): Promise<Cluster> {
    const cluster = new Cluster(replication);
    try {
      cluster.#primary = await cluster.#startNode((options, data) => initialise(options, data));
      await dropTemplates(cluster.primary);
      cluster.#front = await layWire(cluster.primary.url);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The address that always leads to the primary. */
  get url(): string {
    return made(this.#front).url;
  }

  get primary(): PostgresNode {
    return made(this.#primary);
  }

  get standby(): PostgresNode {
    return made(this.#standby);
  }

  /** As the primary knows the standby that is there or comes next. */
  get standbyName(): string {
    return `node_${this.#standby === undefined ? this.#made + 1 : this.#made}`;
  }

  /** Makes a standby from the running primary; resolves when it streams, and is synchronous if it should be. */
  async addStandby(): Promise<void> {
    const name = this.standbyName;
    this.#link = await layWire(this.primary.url);
    const { port } = new URL(this.#link.url);
    const login = `user=postgres password=${this.#password} application_name=${name}`;
    const source = this.primary;
    this.#standby = await this.#startNode(
      (_options, data) => copyAsStandby(source, data),
      `primary_conninfo=host=127.0.0.1 port=${port} ${login}`,
    );
    const state = this.#replication === "synchronous" ? "sync" : "async";
    const seen = "select state, sync_state from pg_stat_replication where application_name = $1";
    await vi.waitFor(
      async () => {
        const rows = await this.primary.sql(seen, [name]);
        expect(rows).toEqual([{ state: "streaming", sync_state: state }]);
      },
      { timeout: 60_000, interval: 50 },
    );
  }

  /** Nothing gets from the primary to the standby any more. */
  holdStandby(): void {
    made(this.#link).silence();
  }

  /** Kills the primary for good; nobody answers at the address until {@link promote}. */
  async killPrimary(): Promise<void> {
    const { primary } = this;
    await primary.kill();
    this.#primary = undefined;
    this.#leaving.push(primary.stop());
    await this.#link?.close();
  }

  /** Promotes the standby and returns it, before anybody else is led to it. */
  async promote(): Promise<PostgresNode> {
    const [promoted] = await this.standby.sql("select pg_promote(true, 60) as done");
    if (promoted?.["done"] !== true) throw new Error("the standby could not be promoted");
    this.#primary = this.#standby;
    this.#standby = undefined;
    return this.primary;
  }

  /** Leads everybody to the present primary. */
  lead(): void {
    made(this.#front).lead(this.primary.url);
  }

  async stop(): Promise<void> {
    await this.#front?.close();
    await this.#link?.close();
    await Promise.all([this.#standby?.stop(), this.#primary?.stop(), ...this.#leaving]);
  }

  #startNode(
    fill: (options: NodeOptions, data: string) => Promise<void>,
    ...settings: string[]
  ): Promise<PostgresNode> {
    this.#made += 1;
    const next = this.#replication === "synchronous" ? `FIRST 1 (node_${this.#made + 1})` : "";
    const options: NodeOptions = {
      binaries: this.#binaries,
      password: this.#password,
      settings: [`synchronous_standby_names=${next}`, ...settings],
      fill: (data) => fill(options, data),
    };
    return startNode(options);
  }
}

/** They make up two thirds of the files that each copy has to write and sync. */
async function dropTemplates(node: PostgresNode): Promise<void> {
  await node.sql("update pg_database set datistemplate = false");
  for (const name of ["template0", "template1"]) await node.sql(`drop database ${name}`);
}

function made<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("that part of the cluster is not there");
  return part;
}
