/**
 * Finds the operation that a person means by a key or the beginning of one.
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { OperationId, ReadJournalParams, Store } from "../ledger/store.ts";
import { CliError } from "./exit-codes.ts";
import { counted, shortKey } from "./text.ts";

/** More than these are not listed when a beginning fits several. */
const maxListed = 5;
/** Behind every line of a key: the highest that the column holds. */
const highestSeq = 2 ** 31 - 1;

/**
 * Finds the one operation.
 *
 * @throws {NeverTwiceError} OPERATION_NOT_FOUND. @throws {CliError} AMBIGUOUS_KEY, USAGE.
 */
export async function findOperation(
  store: Store,
  given: string,
  tenant: string | undefined,
): Promise<OperationRecord> {
  const beginning = given.toLowerCase();
  if (!/^[0-9a-f]{4,64}$/.test(beginning)) {
    throw new CliError("USAGE", `"${given}" is no key: give 4 to 64 hex digits of it.`);
  }
  const ids = await findIds(store, beginning, tenant);
  const [id, ...others] = ids;
  if (others.length > 0) throw ambiguous(given, ids);
  const record = id === undefined ? undefined : await store.read(id);
  if (record !== undefined) return record;
  throw new NeverTwiceError(
    "OPERATION_NOT_FOUND",
    `No operation${tenant === undefined ? "" : ` of tenant ${tenant}`} has a key that begins with ${given}. See \`nevertwice operations list\`.`,
  );
}

async function findIds(
  store: Store,
  beginning: string,
  tenant: string | undefined,
): Promise<OperationId[]> {
  if (tenant !== undefined && beginning.length === 64) return [{ tenant, key: beginning }];
  const ids: OperationId[] = [];
  const tenants = tenant === undefined ? eachTenant(store) : [tenant];
  for await (const each of tenants) {
    ids.push(...(await findInTenant(store, beginning, each)));
    if (ids.length > maxListed) break;
  }
  return ids;
}

/** Every operation has a journal line, and the journal is in order of tenant and key. */
async function findInTenant(
  store: Store,
  beginning: string,
  tenant: string,
): Promise<OperationId[]> {
  const ids: OperationId[] = [];
  let after = { tenant, key: beginning, seq: 0 };
  while (ids.length <= maxListed) {
    const key = await nextKey(store, { tenant, after });
    if (key === undefined || !key.startsWith(beginning)) break;
    ids.push({ tenant, key });
    after = { tenant, key, seq: highestSeq };
  }
  return ids;
}

async function nextKey(
  store: Store,
  where: Pick<ReadJournalParams, "tenant" | "after">,
): Promise<string | undefined> {
  const [line] = await store.readJournal({ ...where, key: null, limit: 1 });
  return line?.key;
}

async function* eachTenant(store: Store): AsyncGenerator<string> {
  let after: ReadJournalParams["after"] = null;
  for (;;) {
    const [line] = await store.readJournal({ tenant: null, key: null, after, limit: 1 });
    if (line === undefined) return;
    yield line.tenant;
    // Behind every key, for keys are hex digits.
    after = { tenant: line.tenant, key: "zzzz", seq: 0 };
  }
}

function ambiguous(given: string, ids: readonly OperationId[]): CliError {
  const listed = ids
    .slice(0, maxListed)
    .map(({ tenant, key }) => `${shortKey(key)}… of tenant ${tenant}`)
    .join(", ");
  const more = ids.length > maxListed ? " and more" : "";
  return new CliError(
    "AMBIGUOUS_KEY",
    `${given} is the beginning of ${more === "" ? counted(ids.length, "key") : "many keys"}: ${listed}${more}. Give more digits, or --tenant.`,
  );
}
