/** What the address leaves out comes from the variables that `pg`, as psql, takes from the environment. */
import { afterEach, expect, test, vi } from "vitest";
import { openLedger, openRawReader } from "../../src/index.js";
import { dropJournal, freshName, serverUrl, sql } from "./journal.js";

const { hostname, port, username, password, pathname } = new URL(serverUrl);
const name = freshName();

afterEach(async () => {
  vi.unstubAllEnvs();
  await dropJournal(name);
});

test("host, port, user, password, database and name of the program come from the environment, and the address wins", async () => {
  vi.stubEnv("PGHOST", hostname);
  vi.stubEnv("PGPORT", port);
  vi.stubEnv("PGUSER", decodeURIComponent(username));
  vi.stubEnv("PGPASSWORD", decodeURIComponent(password));
  vi.stubEnv("PGDATABASE", pathname.slice(1));
  vi.stubEnv("PGAPPNAME", `${name}_env`);
  const isThere = async (application: string): Promise<boolean> => {
    const query = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()";
    return (await sql(query, [application])).length > 0;
  };

  const ledger = await openLedger(`postgres://?journal=${name}`);
  await expect(ledger.status()).resolves.toMatchObject({ location: `postgres://?journal=${name}` });
  expect(await isThere(`${name}_env`)).toBe(true);
  await ledger.close();

  const reader = await openRawReader(`postgres:///?journal=${name}&application_name=${name}_own`);
  await reader.entries(null, 1);
  expect(await isThere(`${name}_own`)).toBe(true);
  await reader.close();

  vi.stubEnv("PGDATABASE", "no_database_of_that_name");
  await expect(openLedger(`postgres://?journal=${name}`)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await (await openLedger(`postgres://${pathname}?journal=${name}`)).close();
});
