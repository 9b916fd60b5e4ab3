/** Writers that took a turn, because a commit that was assumed gave no answer: they go on as before. */
import { Client } from "pg";
import { expect, test } from "vitest";
import type { Ledger } from "../../src/index.js";
import { onCleanup, open } from "../engine/fixture.js";
import { behindProxy, expectSound, refusal, schemaOf } from "./place.js";
import type { Behind } from "./place.js";

const note = (ledger: Ledger, n: number): Promise<unknown> =>
  ledger.append("note/1", [{ type: "note.written", data: { n } }]);

/** Loses what an append sent that did not wait for the lock, which the ledger then does again, or tells of, behind a turn. */
async function loseOne(ledger: Ledger, { proxy }: Behind): Promise<void> {
  const turns: string[] = [];
  proxy.hear = (text) => void (text.includes("'turn', pg_current_xact_id()") && turns.push(text));
  const struck = proxy.cutWhen({ query: /\bln\(/, moment: "before" });
  for (let n = 0; turns.length === 0; n++) await note(ledger, n).catch(() => {});
  await struck;
}

/** Takes the write lock, as another program would. */
async function lock({ direct }: Behind): Promise<() => Promise<unknown>> {
  const url = new URL(direct);
  url.searchParams.delete("journal");
  const other = new Client({ connectionString: url.href });
  await other.connect();
  onCleanup(() => other.end());
  await other.query(`BEGIN; SELECT FROM "${schemaOf(direct)}".head FOR UPDATE`);
  return () => other.query("ROLLBACK");
}

test("a lock that was not had is asked for again by the same connection", async () => {
  const behind = await behindProxy();
  const ledger = await open(behind.url, { busyTimeoutMs: 300 });
  await loseOne(ledger, behind);

  const letGo = await lock(behind);
  expect(await refusal(note(ledger, -1))).toMatchObject({ code: "STORE_BUSY" });
  await letGo();

  await note(ledger, -2);
  await expectSound(ledger);
});

test("an append that others keep from the lock for too long is refused, and in no doubt, also where it was written before the lock was had", async () => {
  const behind = await behindProxy();
  const ledger = await open(behind.url, { busyTimeoutMs: 300 });
  const guards: string[] = [];
  behind.proxy.hear = (text) => void (/\bln\(/.test(text) && guards.push(text));
  for (let n = 0; guards.length === 0; n++) await note(ledger, n);
  const letGo = await lock(behind);
  for (const n of [-1, -2]) expect(await refusal(note(ledger, n))).toMatchObject({ code: "STORE_BUSY" });
  await letGo();
  await note(ledger, -3);
  const numbers = (await ledger.readStream("note/1").toArray()).map(({ data }) => data["n"]);
  expect(numbers.filter((n) => (n as number) < 0)).toEqual([-3]);
});
