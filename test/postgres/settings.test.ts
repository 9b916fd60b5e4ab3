/** What an operator sets for a role, and what others put where the server looks for names, changes nothing of a journal. */
import { randomBytes } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { content } from "../../src/index.js";
import type { ContentReference } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { ask, expectSound, journalUrl, serverUrl } from "./place.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A role with such settings, and a journal that it makes. */
async function roleWith(settings: readonly string[]): Promise<{ readonly role: string; readonly url: string }> {
  const role = `r_${randomBytes(6).toString("hex")}`;
  await ask(serverUrl(), `CREATE ROLE ${role} LOGIN PASSWORD 'of-the-role'`);
  cleanups.push(() => ask(serverUrl(), `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`));
  await ask(serverUrl(), `GRANT CREATE ON DATABASE ${new URL(serverUrl()).pathname.slice(1)} TO ${role}`);
  for (const setting of settings) await ask(serverUrl(), `ALTER ROLE ${role} SET ${setting}`);
  const url = new URL(journalUrl());
  url.username = role;
  url.password = "of-the-role";
  return { role, url: url.href };
}

test.each([
  ["lists without NULL", ["array_nulls = off"]],
  ["names in quotes", ["quote_all_identifiers = on"]],
  ["strings and bytes of old", ["standard_conforming_strings = off", "bytea_output = escape"]],
  ["another encoding", ["client_encoding = LATIN1"]],
  ["the strictest isolation", ["default_transaction_isolation = serializable", "default_transaction_deferrable = on"]],
  ["no indexes", ["enable_indexscan = off", "enable_indexonlyscan = off", "enable_bitmapscan = off"]],
  ["no names of its own", ["search_path = ''"]],
])("a role that is set to %s writes and reads the same", async (_, settings) => {
  const { url } = await roleWith(settings);
  const ledger = await open(url);
  const runs = [];
  for (const title of ["NULL", `{"\\'}`, "ü𝄞"]) runs.push((await ledger.runs.create({ title })).runId);
  for (const runId of runs) await ledger.queue.enqueue({ runId });
  await ledger.queue.claimNext({ holder: "NULL" });
  const note = content("NULL");
  await ledger.append("order/NULL", [{ type: "order.placed", data: { note, more: content(Buffer.alloc(2_000)) } }]);
  await ledger.append("order/plain", [{ type: "order.placed", data: { note } }]);

  await expectSound(ledger);
  await ledger.close();
  const again = await open(
    url.replace(/\/\/.*@/, `//${new URL(serverUrl()).username}:${new URL(serverUrl()).password}@`),
  );
  const listed = (await again.runs.list()).runs.map(({ title }) => title);
  expect(new Set(listed)).toEqual(new Set(["NULL", `{"\\'}`, "ü𝄞"]));
  await expectSound(again);
  await again.close();
});

test("functions and operators that others made where a role looks for names are never called", async () => {
  const theirs = `theirs_${randomBytes(4).toString("hex")}`;
  const { url } = await roleWith([`search_path = ${theirs}, pg_catalog`]);
  cleanups.push(() => ask(serverUrl(), `DROP SCHEMA ${theirs} CASCADE`));
  const body = `LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'it was called' USING ERRCODE = 'P0002'; END $$`;
  await ask(
    serverUrl(),
    `CREATE SCHEMA ${theirs}; GRANT USAGE ON SCHEMA ${theirs} TO PUBLIC;
     CREATE FUNCTION ${theirs}.joined(bigint, text) RETURNS text ${body};
     CREATE OPERATOR ${theirs}.|| (LEFTARG = bigint, RIGHTARG = text, FUNCTION = ${theirs}.joined);
     CREATE FUNCTION ${theirs}.times(numeric, integer) RETURNS numeric ${body};
     CREATE OPERATOR ${theirs}.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = ${theirs}.times);
     CREATE FUNCTION ${theirs}.same(name, text) RETURNS boolean ${body};
     CREATE OPERATOR ${theirs}.= (LEFTARG = name, RIGHTARG = text, FUNCTION = ${theirs}.same);
     CREATE FUNCTION ${theirs}.differ(bigint, bigint) RETURNS boolean ${body};
     CREATE OPERATOR ${theirs}.<> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = ${theirs}.differ);
     CREATE FUNCTION ${theirs}.encode(bytea, text) RETURNS text ${body};
     CREATE FUNCTION ${theirs}.set_config(text, text, boolean) RETURNS text ${body};
     CREATE FUNCTION ${theirs}.current_setting(text) RETURNS text ${body};
     CREATE FUNCTION ${theirs}.octet_length(bytea) RETURNS integer ${body}`,
  );
  const ledger = await open(url);
  const { runId } = await ledger.runs.create({ title: "one" });
  await ledger.queue.enqueue({ runId });
  await ledger.append("order/1", [{ type: "order.placed", data: { note: content("ring twice") } }]);
  for await (const { data } of ledger.readStream("order/1"))
    await ledger.erase([(data["note"] as unknown as ContentReference).$content], { reason: "asked for" });

  await expectSound(ledger);
  await ledger.close();
});
