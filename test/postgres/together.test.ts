/** Statements that share a Sync, on a server: all of them or none, and what failed leaves a connection that can be used. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { Connection } from "../../src/store/postgres/connection.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import { serverUrl } from "./place.js";

async function connected(): Promise<Connection> {
  const { config } = parsePostgresLocation(serverUrl());
  const connection = await Connection.open({ config, timeoutMs: 10_000 }, "writes");
  onTestFinished(() => connection.close());
  return connection;
}

/** A table with nothing in it. */
async function table(connection: Connection): Promise<string> {
  const name = `public."t_${randomUUID()}"`;
  await connection.command(`CREATE TABLE ${name} (n int)`);
  onTestFinished(async () => void (await (await connected()).command(`DROP TABLE ${name}`)));
  return name;
}

const asking = (name: string, text: string, ...values: unknown[]) => ({ statement: { name, text }, values });
const countOf = async (connection: Connection, name: string): Promise<unknown> =>
  (await connection.rows<[number]>(`SELECT count(*)::int FROM ${name}`))[0]![0];

for (const [what, first] of [
  ["a BEGIN that the server does not understand", "BEGIN ISOLATION LEVEL NONE AT ALL"],
  ["a statement that fails when it is done", "SELECT ln(0::float8)"],
  ["a statement that is cancelled", "SELECT pg_sleep(60)"],
] as const) {
  test(`behind ${what} nothing is done, and the connection is sound`, async () => {
    const connection = await connected();
    const name = await table(connection);

    const together = connection.together([
      asking("", first),
      asking("insert", `INSERT INTO ${name} VALUES (1)`),
      asking("commit", "COMMIT"),
    ]);
    const ended = together.then(
      () => "done",
      () => "failed",
    );
    if (first.includes("sleep")) {
      const other = await connected();
      const cancel = (): Promise<unknown[][]> =>
        other.rows(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ${connection.backend} AND wait_event = 'PgSleep'`,
        );
      await expect.poll(cancel).toEqual([[true]]);
    }
    expect(await ended).toBe("failed");

    expect(connection.broken).toBe(false);
    expect(await countOf(connection, name)).toBe(0);
  });
}

test("names that were being prepared when something failed before, at or behind them can be used again", async () => {
  const connection = await connected();
  const name = await table(connection);
  const good = [
    asking("one", `INSERT INTO ${name} VALUES (1)`),
    asking("two", `INSERT INTO ${name} VALUES ($1::int)`, 2),
  ];
  const bad = asking("", "SELECT ln(0::float8)");
  const tries = [
    [bad, ...good],
    [good[0]!, bad, good[1]!],
    [...good, bad],
    [asking("two", good[1]!.statement.text, "x")],
  ];
  for (const group of tries) {
    // What is sent behind it at once is about the same names.
    const failed = connection.together(group);
    const behind = connection.together(good).catch((error: unknown) => error);
    await expect(failed).rejects.toThrow();
    await behind;

    await connection.together(good);
  }
  expect(connection.broken).toBe(false);
  expect(await countOf(connection, name)).toBeGreaterThanOrEqual(2 * tries.length);
});

test("values arrive as they are: lists of nothing, of booleans and of NULL, bytes and whole numbers of 64 bits", async () => {
  const connection = await connected();
  const bytes = Buffer.from([0, 1, 255]);
  const rows = await connection.together([
    asking("lists", "SELECT $1::text[], $2::bool[], $3::bigint[]", [], [true, null, false], [null, null]),
    asking(
      "bytes",
      "SELECT $1::bytea, $2::bytea, $3::text",
      bytes,
      new Uint8Array(bytes.buffer, bytes.byteOffset, 3),
      null,
    ),
    asking("numbers", "SELECT $1::bigint, $2::bigint, $3::bool", Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, false),
    asking("none", "SELECT 1 WHERE false"),
  ]);
  expect(rows).toEqual([
    [[[], [true, null, false], [null, null]]],
    [[bytes, bytes, null]],
    [[Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, false]],
    [],
  ]);
});

test("a text with U+0000, which the server has none of, fails and writes nothing; the connection is used again", async () => {
  const connection = await connected();
  const name = await table(connection);
  for (const value of ["a\0b", ["a\0b"]]) {
    const group = [asking("one", `INSERT INTO ${name} VALUES (1)`), asking("", "SELECT $1", value)];
    await expect(connection.together(group)).rejects.toThrow();
  }
  expect(await countOf(await connected(), name)).toBe(0);
});
