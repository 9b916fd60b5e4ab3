/** What a session promises whatever is set for its role: it acknowledges what is on disk, and stands still no longer than is good for
 *  the others. */
import { expect, test } from "vitest";
import { Connection } from "../../src/store/postgres/connection.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import { statementsOn } from "../../src/store/postgres/statements.js";
import { onCleanup } from "../engine/fixture.js";
import { serverUrl } from "./place.js";

const idle = "idle_in_transaction_session_timeout";
const timeoutMs = 2_500;

async function session(role: "reads" | "writes", given: readonly string[] = []): Promise<Connection> {
  const url = new URL(serverUrl());
  if (given.length > 0) url.searchParams.set("options", given.map((setting) => `-c ${setting}`).join(" "));
  const connection = await Connection.open({ config: parsePostgresLocation(url.href).config, timeoutMs }, role);
  onCleanup(() => connection.close());
  return connection;
}

async function settingOf(connection: Connection, name: string): Promise<string> {
  const [row] = await connection.rows<[string]>("SELECT pg_catalog.current_setting($1)", [name]);
  return row![0];
}

test.each([
  ["nothing", [], "10s"],
  ["no limit", [`${idle}=0`], "10s"],
  ["more", [`${idle}=60000`], "10s"],
  ["less", [`${idle}=700`], "700ms"],
])("whoever writes stands still for ten seconds at most in a batch, where %s is set", async (_, given, found) => {
  expect(await settingOf(await session("writes", given), idle)).toBe(found);
});

test("whoever writes and is gone is noticed by three probes, when half of what it sent has come", async () => {
  const connection = await session("writes");
  const found = [];
  for (const name of ["idle", "interval", "count"]) found.push(await settingOf(connection, `tcp_keepalives_${name}`));
  expect(found).toEqual(["10", "5", "3"]);
});

test("whoever reads may take its time", async () => {
  expect(await settingOf(await session("reads"), idle)).toBe("0");
});

test.each([
  ["off", "on"],
  ["local", "local"],
  ["on", "on"],
  ["remote_apply", "remote_apply"],
])("a session that is set to synchronous_commit=%s has %s", async (given, found) => {
  expect(await settingOf(await session("writes", [`synchronous_commit=${given}`]), "synchronous_commit")).toBe(found);
});

test("a hint waits for no disk, and the commits behind it do again", async () => {
  const connection = await session("writes");

  await connection.run(statementsOn("none").announce, ["a_channel", "7"]);

  expect(await settingOf(connection, "synchronous_commit")).toBe("on");
});

test("a lock is waited for as long as the ledger was told to, by whoever writes", async () => {
  expect(await settingOf(await session("writes", ["lock_timeout=60000"]), "lock_timeout")).toBe(`${timeoutMs}ms`);
});
