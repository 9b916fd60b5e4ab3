/** The roles of src/GUIDE.md, made by the very statements that stand there: what each may do, and what none but the owner may. */
import { readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { content, defineEvents, openLedger, openRawReader } from "../../src/index.js";
import type { ContentReference, LedgerOptions } from "../../src/index.js";
import { verify } from "../../src/forensic/index.js";
import { call } from "../cli/command.js";
import { addressOf, dropJournal, freshName, sql } from "./journal.js";

const guide = readFileSync(new URL("../../src/GUIDE.md", import.meta.url), "utf8");
const [roles = "", grants = ""] = [...guide.split("## Roles in PostgreSQL")[1]!.matchAll(/```sql\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
);
const name = freshName();
const logins = { app: `${name}_app`, app2: `${name}_app2`, auditor: `${name}_auditor`, stranger: `${name}_stranger` };
const password = "a-password";

/** The guide's statements, about this journal. */
function here(text: string): string {
  return text
    .replaceAll(/\bauditor\b/g, logins.auditor)
    .replaceAll(/\bapp\b/g, logins.app)
    .replaceAll(/\baudit(?=\b|_)/g, name);
}

function addressFor(login: string): string {
  const url = new URL(addressOf(name));
  url.username = login;
  url.password = password;
  return url.href;
}

function asOwner(): string {
  return `${addressOf(name)}&options=-c%20role%3D${name}_owner`;
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
  await sql(here(roles));
  await (await openLedger(asOwner(), { create: "new" })).close();
  await sql(here(grants));
  await sql(
    `ALTER ROLE ${logins.app} PASSWORD '${password}'; ALTER ROLE ${logins.auditor} PASSWORD '${password}';
     CREATE ROLE ${logins.app2} LOGIN IN ROLE ${name}_writer PASSWORD '${password}';
     ALTER ROLE ${logins.app2} SET role = ${name}_writer; CREATE ROLE ${logins.stranger} LOGIN PASSWORD '${password}'`,
  );
});

afterAll(async () => {
  await dropJournal(name);
  for (const role of [...Object.values(logins), `${name}_owner`, `${name}_writer`, `${name}_reader`])
    await sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
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
