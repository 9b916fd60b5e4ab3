/** Makes commits of a journal wait until the test lets them go: a trigger that fires at the COMMIT, when all locks are still held.
 *  It waits by sleeping, for no timeout of a lock or of an idle session ends that. */
import { Client } from "pg";
import { onCleanup } from "../engine/fixture.js";
import { schemaOf } from "./place.js";

export interface Blocker {
  /** How many backends are in a COMMIT that waits, or wait for one that is. */
  waiting(): Promise<number>;
  /** Lets all go, those that come as well. */
  release(): Promise<void>;
}

let keys = 0;

export async function blockCommits(direct: string): Promise<Blocker> {
  const schema = schemaOf(direct);
  const url = new URL(direct);
  url.searchParams.delete("journal");
  const client = new Client({ connectionString: url.href });
  await client.connect();
  onCleanup(() => client.end());
  // One key is the gate, the next one says who stands at it.
  const key = process.pid * 1_000 + 2 * ++keys;
  const made = `"${schema}"."waits_${key}"`;
  await client.query(`SELECT pg_advisory_lock(${key})`);
  await client.query(
    `CREATE FUNCTION ${made}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       PERFORM pg_advisory_xact_lock_shared(${key + 1});
       LOOP
         EXIT WHEN pg_try_advisory_xact_lock_shared(${key});
         PERFORM pg_sleep(0.01);
       END LOOP;
       RETURN NULL; END $$`,
  );
  await client.query(
    `CREATE CONSTRAINT TRIGGER "waits_${key}" AFTER INSERT ON "${schema}".entries
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${made}()`,
  );
  let released = false;
  return {
    async waiting() {
      const { rows } = await client.query<{ count: number }>(
        `WITH stopped AS (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${key + 1})
         SELECT count(DISTINCT pid)::int AS count FROM pg_stat_activity
          WHERE pid IN (SELECT pid FROM stopped) OR pg_blocking_pids(pid) && ARRAY(SELECT pid FROM stopped)`,
      );
      return rows[0]!.count;
    },
    async release() {
      if (released) return;
      released = true;
      await client.query(`SELECT pg_advisory_unlock(${key})`);
      // It is no part of a journal.
      await client.query(`DROP TRIGGER "waits_${key}" ON "${schema}".entries`);
      await client.query(`DROP FUNCTION ${made}()`);
    },
  };
}
