/** Several hosts on one database whose clocks are hours apart: time is the database's, so leases are what they say, and a host that
 *  stands still holds up the others for no longer than the server lets it. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { onCleanup } from "../engine/fixture.js";
import { startChild } from "../processes/child.js";
import { workThroughQueue } from "../processes/queue-work.js";
import { ask, expectSound, journalUrl } from "./place.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const items = long ? 3_000 : 200;
const hourMs = 3_600_000;

/** The database's clock, in ms. */
async function databaseNow(url: string): Promise<number> {
  const [row] = await ask(url, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now");
  return row!["now"] as number;
}

test(
  `four hosts whose clocks are hours apart complete ${items} items, each exactly once, and the times are the database's`,
  { timeout: 600_000 },
  async () => {
    const url = journalUrl();
    const ledger = await openLedger(url, { busyTimeoutMs: 600_000 });
    onCleanup(() => ledger.close());
    const began = await databaseNow(url);

    await workThroughQueue({
      path: url,
      ledger,
      processes: 4,
      items,
      ...(long ? { kills: 20, stops: 12 } : { kills: 3, stops: 3 }),
      width: 4,
      leaseMs: 3_000,
      skewsMs: [5 * hourMs, -7 * hourMs, 40 * 24 * hourMs, 0],
    });

    const ended = await databaseNow(url);
    let outside = 0;
    for await (const { at } of ledger.read()) if (at < began - 1_000 || at > ended + 1_000) outside++;
    expect(outside).toBe(0);
  },
);

test("a host that stands still in the middle of a batch loses the lock, and is told so when it wakes", async () => {
  const url = journalUrl();
  const ledger = await openLedger(url, { busyTimeoutMs: 120_000 });
  onCleanup(() => ledger.close());
  const address = new URL(url);
  address.searchParams.set("options", "-c idle_in_transaction_session_timeout=1500");
  const child = startChild("sleeper.mjs", [address.href]);
  onCleanup(() => void child.process.kill("SIGKILL"));
  // It stops itself while it decides.
  await Promise.race([child.line("deciding"), child.finished.then(({ stderr }) => expect(stderr).toBe("it goes on"))]);

  await ledger.append("note/1", [{ type: "note.written", data: { by: "the other" } }]);

  child.process.kill("SIGCONT");
  const { code, stderr, lines } = await child.finished;
  expect({ code, stderr, lines }).toEqual({ code: 0, stderr: "", lines: ["deciding", "STORE_UNAVAILABLE", "done"] });
  const events = await ledger.readStream("note/1").toArray();
  expect(events.map(({ data }) => data["by"])).toEqual(["the other", "the sleeper, awake"]);
  await expectSound(ledger);
});
