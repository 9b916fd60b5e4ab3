/** No query of the PostgreSQL adapter scans: the plan of every statement is asked for, as a session of the adapter has it, and
 *  read. What reads all of a small table says so here. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { byIndex, byKey, byKeys, writes } from "../../src/store/postgres/documents.js";
import { createTable } from "../../src/store/postgres/create.js";
import { documentTable } from "../../src/store/postgres/schema.js";
import { statementsOn } from "../../src/store/postgres/statements.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { addressOf, dropJournal, freshName, sql } from "./journal.js";

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
  readonly Filter?: string;
  readonly Plans?: readonly Plan[];
}

const journal = freshName();
const table = 7;

beforeAll(async () => {
  await (await openPostgresStore(addressOf(journal))).close();
  await sql(createTable(journal, documentTable(table, 2)).join("; "));
  await sql("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off");
});

afterAll(() => dropJournal(journal));

/** What a statement reads otherwise than by the condition of an index. */
async function scansOf(text: string): Promise<readonly string[]> {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const values = count === 0 ? "" : `(${Array.from({ length: count }, () => "NULL").join(", ")})`;
  await sql(`PREPARE asked AS ${text}`);
  try {
    const rows = await sql(`EXPLAIN (FORMAT JSON) EXECUTE asked${values}`);
    const [{ Plan: plan }] = rows[0]!["QUERY PLAN"] as [{ Plan: Plan }];
    return scansIn(plan);
  } finally {
    await sql("DEALLOCATE asked");
  }
}

function scansIn(plan: Plan, parent = ""): readonly string[] {
  const type = plan["Node Type"];
  const below = (plan.Plans ?? []).flatMap((each) => scansIn(each, type));
  if (type === "Sort") return ["Sort", ...below];
  // One end of an index, as far as the limit goes.
  if (parent === "Limit" && type.startsWith("Index") && plan.Filter === undefined) return below;
  const byIndexOf = /^(Index|Index Only|Bitmap Index) Scan$/.test(type);
  if (byIndexOf ? plan["Index Cond"] !== undefined : !type.endsWith("Seq Scan")) return below;
  return [`${type} of ${plan["Relation Name"]}`, ...below];
}

/** Tables that are small, and read as a whole in the order of their key. */
const wholes: Readonly<Record<string, readonly string[]>> = {
  consumers: ["Index Scan of consumers"],
  projections: ["Index Scan of projections"],
  types: ["Index Scan of types"],
  // Of the revisions of a page, at most.
  walkBack: ["Sort"],
};

test.each(Object.entries(statementsOn(journal)))("%s goes by an index", async (name, { text }) => {
  const compares = name === "ground" || name === "guard";
  const scans = (await scansOf(text)).filter((scan) => !(compares && scan.endsWith(" of projections")));
  expect(scans).toEqual(wholes[name] ?? []);
});

const bytes = new Uint8Array([1]);
const change = { key: "a", seq: 1, text: "{}" };
const asks = [
  ["by keys", byKeys(journal, table, ["a"])],
  ["in the order of keys", byKey(journal, table, null, 10, false)],
  ["against the order of keys", byKey(journal, table, null, 10, true)],
  ["behind a key", byKey(journal, table, "a", 10, false)],
  ["before a key", byKey(journal, table, "a", 10, true)],
  ["a range of an index", byIndex(journal, table, { index: 1, from: bytes, to: bytes, reverse: false, limit: 10 })],
  ["the same backwards", byIndex(journal, table, { index: 1, from: bytes, to: bytes, reverse: true, limit: 10 })],
  ["a range to the end", byIndex(journal, table, { index: 0, from: bytes, to: null, reverse: false, limit: 10 })],
  ...writes(journal, table, 2, [
    { ...change, indexes: [bytes, null] },
    { ...change, indexes: [undefined, null] },
    { ...change, text: null, indexes: [] },
  ]).map((ask) => [`writing: ${ask.statement.name}`, ask] as const),
] as const;

test.each(asks)("of documents, %s goes by an index", async (_, { statement }) => {
  expect(await scansOf(statement.text)).toEqual([]);
});
