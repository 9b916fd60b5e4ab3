import { existsSync } from "node:fs";
import pg from "pg";
import { expect, test } from "vitest";
import { startServer } from "./server.js";
import type { TestServer } from "./server.js";

test.each([true, false])(
  "a server keeps its port and what was committed over a restart and over a crash, and leaves nothing behind, sync %s",
  async (sync) => {
    const server = await startServer({ sync });
    await ask(server, "CREATE TABLE kept (number int)");

    const before = server.pid;
    await server.restart();
    await ask(server, "INSERT INTO kept VALUES (1)");
    await server.kill();
    await expect(ask(server, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await server.restart();

    expect(await ask(server, "SELECT number FROM kept")).toEqual([{ number: 1 }]);
    const [{ directory }] = (await ask(server, "SELECT current_setting('data_directory') AS directory")) as [
      { directory: string },
    ];
    await server.stop();
    expect(server.pid).not.toBe(before);
    expect(existsSync(directory)).toBe(false);
  },
);

test("the server of the run keeps texts as UTF-8", async () => {
  const url = process.env["RUNLEDGER_TEST_POSTGRES"]!;

  expect(await ask({ url }, "SHOW server_encoding")).toEqual([{ server_encoding: "UTF8" }]);
});

async function ask({ url }: Pick<TestServer, "url">, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
