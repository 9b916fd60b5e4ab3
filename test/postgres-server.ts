/** One PostgreSQL for a whole run of the tests, unless `RUNLEDGER_TEST_POSTGRES` names one. Workers inherit the address.
 *  A run without a server fails: tests on PostgreSQL are never skipped. */
import pg from "pg";
import { startServer } from "./postgres/server.js";

/** Files run side by side, and each of their ledgers holds a handful of connections. */
const connectionsMax = 300;

export async function setup(): Promise<() => Promise<void>> {
  const given = process.env.RUNLEDGER_TEST_POSTGRES;
  if (given !== undefined && given !== "") {
    await tryServer(given);
    return async () => {};
  }
  // Nothing in these tests cuts the power. Those that need a disk start a server of their own.
  const server = await startServer({ sync: false, flags: ["-c", `max_connections=${connectionsMax}`] });
  process.env.RUNLEDGER_TEST_POSTGRES = server.url;
  return () => server.stop();
}

async function tryServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    await client.query("SELECT 1");
  } catch (error) {
    throw new Error("RUNLEDGER_TEST_POSTGRES names a server that cannot be used", { cause: error });
  } finally {
    await client.end();
  }
}
