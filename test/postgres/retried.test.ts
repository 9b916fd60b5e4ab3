/** What the server itself undoes, serialisation failures and deadlocks, is decided again inside: no caller hears of it, nothing is
 *  written twice, and what would never get through ends with a code. */
import { Client } from "pg";
import { expect, test } from "vitest";
import type { Diagnostic, Ledger } from "../../src/index.js";
import { onCleanup, open } from "../engine/fixture.js";
import { calm, manners } from "./calm.js";
import { ask, behindProxy, expectSound, journalUrl, refusal, schemaOf, serverUrl } from "./place.js";

async function note(ledger: Ledger, n: number): Promise<void> {
  await ledger.append("note/1", [{ type: "note.written", data: { n } }]);
}

const numbers = async (ledger: Ledger): Promise<unknown[]> =>
  (await ledger.readStream("note/1").toArray()).map(({ data }) => data["n"]);

function hearing(): { readonly retried: Diagnostic[]; readonly onEvent: (event: Diagnostic) => void } {
  const retried: Diagnostic[] = [];
  return { retried, onEvent: (event) => void (event.type === "retried" && retried.push(event)) };
}

/** Has inserts of entries fail so many times, in the statement or at the COMMIT. What a sequence counts is not undone. */
async function failInserts(
  url: string,
  state: string,
  times: number,
  when: "at once" | "at the commit",
): Promise<void> {
  const schema = schemaOf(url);
  const tries = `public."tries_${schema}"`;
  onCleanup(async () => void (await ask(serverUrl(), `DROP SEQUENCE ${tries}`)));
  const deferred = when === "at once" ? "" : "DEFERRABLE INITIALLY DEFERRED";
  await ask(
    url,
    `CREATE SEQUENCE ${tries};
     CREATE FUNCTION "${schema}".fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('${tries}') <= ${times} THEN RAISE EXCEPTION 'try again' USING ERRCODE = '${state}'; END IF;
       RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON "${schema}".entries ${deferred}
       FOR EACH ROW EXECUTE FUNCTION "${schema}".fails()`,
  );
}

async function failNoMore(url: string): Promise<void> {
  const schema = schemaOf(url);
  await ask(url, `DROP TRIGGER fails ON "${schema}".entries; DROP FUNCTION "${schema}".fails()`);
}

for (const state of ["40001", "40P01"] as const) {
  for (const when of ["at once", "at the commit"] as const) {
    test(`a batch that the server undoes with ${state}, ${when}, is decided again until it is through`, async () => {
      const url = journalUrl();
      const { retried, onEvent } = hearing();
      const ledger = await open(url, { onEvent });
      await note(ledger, 0);
      await failInserts(url, state, 3, when);

      await note(ledger, 1);

      expect(retried).toHaveLength(3);
      await failNoMore(url);
      expect(await numbers(ledger)).toEqual([0, 1]);
      await expectSound(ledger);
    });
  }
}

for (const state of ["40001", "40P01"] as const) {
  for (const when of ["at once", "at the commit"] as const) {
    test(`batches in the air that the server undoes with ${state}, ${when}, are decided again, in order, until they are through`, async () => {
      const { proxy, url, direct } = await behindProxy();
      const { retried, onEvent } = hearing();
      const ledger = await open(url, { onEvent });
      await note(ledger, 0);
      const begun = await calm(ledger, proxy);
      await failInserts(direct, state, 3, when);

      // So many callers at once are two batches, of which the second is begun when the first is on its way.
      await Promise.all(Array.from({ length: 16 }, (_, n) => note(ledger, n + 1)));

      expect(begun()).toBeGreaterThan(0);
      expect(retried.length).toBeGreaterThanOrEqual(3);
      await failNoMore(direct);
      expect(await numbers(ledger)).toEqual(Array.from({ length: 17 }, (_, n) => n));
      await expectSound(ledger);
    });
  }
}

test("a batch that the server undoes again and again ends with STORE_BUSY, and nothing of it is there", async () => {
  const url = journalUrl();
  const ledger = await open(url);
  await note(ledger, 0);
  await failInserts(url, "40001", 1_000, "at the commit");

  expect(await refusal(note(ledger, 1))).toMatchObject({ code: "STORE_BUSY" });

  await failNoMore(url);
  await note(ledger, 2);
  expect(await numbers(ledger)).toEqual([0, 2]);
  await expectSound(ledger);
});

for (const manner of manners)
  test(`a deadlock of a batch ${manner} with somebody at the tables, which the server ends at our cost, costs no caller anything`, async () => {
    const { proxy, url: through } = await behindProxy();
    const url = new URL(through);
    // Whoever has waited for so long first looks for a deadlock, and is the one who goes.
    url.searchParams.set("options", "-c deadlock_timeout=3000");
    const { retried, onEvent } = hearing();
    const ledger = await open(url.href, { onEvent, busyTimeoutMs: 60_000 });
    await note(ledger, 0);
    const isCalm = manner === manners[1];
    const begun = isCalm ? await calm(ledger, proxy) : () => 0;
    const schema = schemaOf(url.href);
    const client = new Client({ connectionString: serverUrl() });
    await client.connect();
    onCleanup(() => client.end());
    await client.query("SET deadlock_timeout = '60s'");
    await client.query("BEGIN");
    await client.query(`LOCK TABLE "${schema}".entries IN SHARE MODE`);

    // The server waits for us to wait, and is never late.
    const crossing = client.query(
      `DO $$ BEGIN
       LOOP
         EXIT WHEN EXISTS (SELECT 1 FROM pg_locks WHERE relation = '"${schema}".entries'::regclass AND NOT granted);
         PERFORM pg_sleep(0.01);
       END LOOP;
       PERFORM one FROM "${schema}".head FOR UPDATE; END $$`,
    );

    const noted = note(ledger, 1);
    await crossing;
    await client.query("ROLLBACK");
    await noted;

    expect(begun()).toBe(isCalm ? 1 : 0);
    // Once more where we are quicker back at the lock than who waited for it.
    expect(retried.length).toBeGreaterThan(0);
    expect(await numbers(ledger)).toEqual([0, 1]);
    await expectSound(ledger);
  });
