/** The roles of src/GUIDE.md, made by the very statements that stand there, by a login that may make roles and is no superuser: what
 *  each may do, and what none but the owner may. */
import { readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { content, defineEvents, openLedger, openRawReader } from "../../src/index.js";
import type { ContentReference, LedgerOptions } from "../../src/index.js";
import { verify } from "../../src/forensic/index.js";
import { call } from "../cli/command.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { newRow } from "../../src/testing/store-documents.js";
import { onCleanup, open } from "../engine/fixture.js";
import { calm } from "./calm.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";
import { refusal as refused } from "./place.js";
import { Proxy } from "./proxy.js";

const guide = readFileSync(new URL("../../src/GUIDE.md", import.meta.url), "utf8");
const [roles = "", grants = ""] = [...guide.split("## Roles in PostgreSQL")[1]!.matchAll(/```sql\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
);
const name = freshName();
const logins = {
  admin: `${name}_admin`,
  app: `${name}_app`,
  app2: `${name}_app2`,
  auditor: `${name}_auditor`,
  stranger: `${name}_stranger`,
};
const password = "a-password";

/** The guide's statements, about this journal. */
function here(text: string, journal: string): string {
  return text
    .replaceAll(/\bauditor\b/g, `${journal}_auditor`)
    .replaceAll(/\bapp\b/g, `${journal}_app`)
    .replaceAll(/\baudit(?=\b|_)/g, journal);
}

function addressFor(login: string, journal: string = name): string {
  const url = new URL(addressOf(journal));
  url.username = login;
  url.password = password;
  return url.href;
}

/** Does what the guide says, with one login: roles and a schema, the journal as its owner, rights. */
async function followGuide(journal: string, address: string): Promise<void> {
  const client = new pg.Client({ connectionString: address.replace(/\?.*/, "") });
  await client.connect();
  try {
    await client.query(here(roles, journal));
    const ledger = await openLedger(`${address}&options=-c%20role%3D${journal}_owner`, { create: "new" });
    await ledger.close();
    await client.query(here(grants, journal));
  } finally {
    await client.end();
  }
  for (const login of ["app", "auditor"]) await sql(`ALTER ROLE ${journal}_${login} PASSWORD '${password}'`);
}

async function dropRoles(names: readonly string[]): Promise<void> {
  for (const role of names) await sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
}

const notes = defineEvents("note", { open: true }, { "note.written": {} });
const countsOf = (version: number) =>
  defineProjection<{ count: number }>()({
    name: "counts",
    version,
    indexes: { count: ({ count }) => [count] },
    on: {
      "note.written": { key: ({ stream }) => stream, apply: (found) => ({ count: (found?.count ?? 0) + 1 }) },
    },
  });
const [counts, newerCounts] = [countsOf(1), countsOf(2)];
const options: LedgerOptions = { events: [notes], projections: [counts] };
const newerOptions: LedgerOptions = { events: [notes], projections: [newerCounts] };

beforeAll(async () => {
  const database = new URL(serverUrl).pathname.slice(1);
  await sql(
    `CREATE ROLE ${logins.admin} LOGIN CREATEROLE CREATEDB PASSWORD '${password}';
     GRANT CREATE ON DATABASE "${database}" TO ${logins.admin}`,
  );
  await followGuide(name, addressFor(logins.admin));
  await sql(
    `CREATE ROLE ${logins.app2} LOGIN IN ROLE ${name}_writer PASSWORD '${password}';
     ALTER ROLE ${logins.app2} SET role = ${name}_writer; CREATE ROLE ${logins.stranger} LOGIN PASSWORD '${password}'`,
  );
});

afterAll(async () => {
  await dropJournal(name);
  const { admin, ...others } = logins;
  await dropRoles([...Object.values(others), `${name}_owner`, `${name}_writer`, `${name}_reader`, admin]);
});

/** What a statement of a login is answered with: a SQLSTATE, or "done". */
async function attempt(login: string, statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: addressFor(login).replace(/\?.*/, "") });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(statement);
    return "done";
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error);
  } finally {
    await client.query("ROLLBACK");
    await client.end();
  }
}

describe("a writing role", () => {
  test("appends, folds, erases, follows, rebuilds and verifies", async () => {
    const ledger = await openLedger(addressFor(logins.app), options);
    const { position } = await ledger.append("note/1", [
      { type: "note.written", data: { text: content("x".repeat(2_000)) } },
    ]);
    const [event] = await ledger.read({ from: position, limit: 1 }).toArray();
    expect(await ledger.projection(counts).get("note/1")).toEqual({ count: 1 });
    for await (const _ of ledger.subscribe({ consumer: "mailer", from: "start" })) break;
    await ledger.runs.create({ runId: "r1", title: "counted" });
    await ledger.erase([(event!.data["text"] as unknown as ContentReference).$content], { reason: "asked for" });
    await ledger.close();

    const newer = await openLedger(addressFor(logins.app), newerOptions);
    await newer.append("note/1", [{ type: "note.written", data: {} }]);
    expect(await newer.projection(newerCounts).get("note/1")).toEqual({ count: 2 });
    expect(await newer.verify({ level: "deep" })).toMatchObject({ verdict: "OK" });
    await newer.close();
  });

  test("keeps checkpoints, waits for no lock, and takes a turn behind what was lost", async () => {
    const proxy = await Proxy.start(serverUrl);
    onCleanup(() => proxy.close());
    const url = new URL(addressFor(logins.app));
    url.host = new URL(proxy.url).host;
    const ledger = await open(url.href, newerOptions);
    const note = (): Promise<unknown> => ledger.append("note/4", [{ type: "note.written", data: {} }]);

    const { size } = await ledger.checkpoint();
    expect(await ledger.checkpoints({ limit: 1 })).toMatchObject([{ size }]);
    const begun = await calm(ledger, proxy);
    await note();
    expect(begun()).toBe(1);
    void proxy.cutWhen({ query: /\bln\(/, moment: "before" });
    expect(await refused(note())).toMatchObject({ code: "STORE_UNAVAILABLE" });
    await note();
    expect(await sql(`SELECT value FROM ${name}.meta WHERE key = 'turn'`)).toHaveLength(1);
    expect(await ledger.projection(newerCounts).get("note/4")).toEqual({ count: 2 });
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK" });
  });

  test("drops tables of documents when they were retired a while ago", async () => {
    const store = await openPostgresStore(addressFor(logins.app));
    onCleanup(() => store.close());
    const made = await store.begin();
    const id = await made.addProjection(newRow("retired"));
    await made.commit();
    const dropped = await store.begin();
    await dropped.dropProjection(id);
    await dropped.commit();
    const left = `SELECT key, to_regclass('${name}.doc_${id}')::text AS there FROM ${name}.meta WHERE key = 'retired_${id}'`;
    expect(await sql(left)).toEqual([{ key: `retired_${id}`, there: `${name}.doc_${id}` }]);
    await sql(`UPDATE ${name}.meta SET value = '0' WHERE key = 'retired_${id}'`);

    await store.maintain();

    expect(await sql(left)).toEqual([]);
    expect(await sql(`SELECT to_regclass('${name}.doc_${id}') AS there`)).toEqual([{ there: null }]);
  });

  test("hears on the command line that erased bytes wait for the server's own vacuum", async () => {
    const ledger = await openLedger(addressFor(logins.app), newerOptions);
    await ledger.append("note/3", [{ type: "note.written", data: { text: content("to be erased") } }]);
    const [event] = await ledger.readStream("note/3").toArray();
    await ledger.close();
    const { $content } = event!.data["text"] as unknown as ContentReference;
    const done = await call(["erase", $content, "--ledger", addressFor(logins.app), "--reason", "x", "--yes"]);
    expect(done).toMatchObject({
      code: 0,
      stderr: "note: the server was not made to clean up: its files may hold the erased bytes until its own vacuum\n",
    });
  });

  test("may be that of several logins, which share its tables", async () => {
    const ledger = await openLedger(addressFor(logins.app2), newerOptions);
    await ledger.append("note/2", [{ type: "note.written", data: {} }]);

    expect(await ledger.projection(newerCounts).get("note/2")).toEqual({ count: 1 });
    await ledger.close();
  });

  test.each([
    ["UPDATE $s.entries SET rev = 7"],
    ["DELETE FROM $s.entries"],
    ["TRUNCATE $s.entries"],
    ["DROP TABLE $s.entries"],
    ["ALTER TABLE $s.entries DISABLE TRIGGER ALL"],
    ["DROP TRIGGER entries_append_only ON $s.entries"],
    ["CREATE TRIGGER more BEFORE INSERT ON $s.entries FOR EACH ROW EXECUTE FUNCTION $s.entries_append_only()"],
    ["DROP FUNCTION $s.entries_append_only() CASCADE"],
    [
      "CREATE OR REPLACE FUNCTION $s.entries_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    ],
    ["SET session_replication_role = replica"],
    ["DELETE FROM $s.contents"],
    ["TRUNCATE $s.contents"],
    ["DELETE FROM $s.nodes"],
    ["UPDATE $s.stream_pages SET page = 7"],
    ["DELETE FROM $s.checkpoints"],
    ["DROP SCHEMA $s CASCADE"],
    ["ALTER TABLE $s.entries OWNER TO CURRENT_USER"],
    ["SET ROLE $s_owner"],
  ])("may not %s", async (statement) => {
    expect(await attempt(logins.app, statement.replaceAll("$s", name))).toBe("42501");
  });

  test("changes a content in one way alone: to erase it", async () => {
    expect(await attempt(logins.app, `UPDATE ${name}.contents SET bytes = 'x'`)).toBe("23000");
  });
});

describe("a reading role", () => {
  test("opens for reading, reads documents, and verifies", async () => {
    const ledger = await openLedger(addressFor(logins.auditor), { ...newerOptions, readOnly: true });
    expect(await ledger.projection(newerCounts).get("note/1")).toEqual({ count: 2 });
    await ledger.close();

    const reader = await openRawReader(addressFor(logins.auditor));
    expect(await verify(reader, { level: "deep", events: [notes], projections: [newerCounts] })).toMatchObject({
      verdict: "OK",
    });
    await reader.close();
  });

  test("is refused when it opens for writing, with the right that it lacks", async () => {
    const opening = openLedger(addressFor(logins.auditor));

    await expect(opening).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      details: { right: expect.stringContaining("on") as string },
    });
  });

  test.each([
    "INSERT INTO $s.meta VALUES ('a', 'b')",
    "DELETE FROM $s.streams",
    "CREATE TABLE $s.more (a int)",
    "SELECT one FROM $s.head FOR UPDATE",
  ])("may not %s", async (statement) => {
    expect(await attempt(logins.auditor, statement.replaceAll("$s", name))).toBe("42501");
  });
});

describe("whoever made the roles", () => {
  test.each(["SET ROLE $s_owner", "SET ROLE $s_writer", "SELECT FROM $s.entries", "DROP TABLE $s.entries"])(
    "may not %s behind the last statement",
    async (statement) => {
      expect(await attempt(logins.admin, statement.replaceAll("$s", name))).toBe("42501");
    },
  );

  test("may be a superuser as well", async () => {
    const journal = freshName();
    try {
      await followGuide(journal, addressOf(journal));

      const ledger = await openLedger(addressFor(`${journal}_app`, journal), options);
      await ledger.append("note/1", [{ type: "note.written", data: {} }]);
      await ledger.close();
      const read = await openLedger(addressFor(`${journal}_auditor`, journal), { ...options, readOnly: true });
      expect(await read.projection(counts).get("note/1")).toEqual({ count: 1 });
      await read.close();
    } finally {
      await dropJournal(journal);
      await dropRoles(["app", "auditor", "owner", "writer", "reader"].map((role) => `${journal}_${role}`));
    }
  });
});

test("who was granted nothing is told so, whatever they ask for", async () => {
  const refusal = { code: "ACCESS_DENIED", hint: expect.any(String) as string };

  await expect(openLedger(addressFor(logins.stranger))).rejects.toMatchObject(refusal);
  await expect(openLedger(addressFor(logins.stranger), { readOnly: true })).rejects.toMatchObject(refusal);
  await expect(openRawReader(addressFor(logins.stranger))).rejects.toMatchObject(refusal);
});

test("tables of documents that belong to another role are told when the ledger is opened, not when it writes", async () => {
  const other = `${name}_other`;
  await sql(
    `CREATE ROLE ${other} LOGIN PASSWORD '${password}'; GRANT USAGE, CREATE ON SCHEMA ${name} TO ${other};
     GRANT ALL ON ALL TABLES IN SCHEMA ${name} TO ${other}`,
  );
  try {
    const opening = openLedger(addressFor(other));
    await expect(opening).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringContaining("SET role") as unknown,
    });
    await expect(opening).rejects.toThrow(/doc_\d+, which belongs to another role/);
  } finally {
    await sql(`DROP OWNED BY ${other}; DROP ROLE ${other}`);
  }
});
