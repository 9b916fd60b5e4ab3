/** A server that is killed while two batches are in the air, which acknowledges by default what is in its memory alone: what callers
 *  were told is what is there when it is back. `RUNLEDGER_LONG=1` makes ten times as many rounds. */
import { expect, test } from "vitest";
import { LedgerError } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, open, runSeed } from "../engine/fixture.js";
import { judge } from "./callers.js";
import type { Told } from "./callers.js";
import { behindProxy, expectSound } from "./place.js";
import { startServer } from "./server.js";

const rounds = process.env["RUNLEDGER_LONG"] === "1" ? 30 : 3;
const callers = 64;

/** Asks for one thing behind another until the server is killed. */
async function call(ledger: Ledger, name: string, killed: AbortSignal, tell: (told: Told) => void): Promise<void> {
  for (let n = 0; !killed.aborted; n++) {
    const wish = `${name}-${n}`;
    let outcome: Told["outcome"] = "done";
    try {
      await ledger.append(`wish/${n % 7}`, [{ type: "wish.granted", data: { wish } }]);
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      if (!["STORE_UNAVAILABLE", "STORE_BUSY", "STORE_IN_DOUBT"].includes(error.code)) throw error;
      outcome = error.code === "STORE_IN_DOUBT" ? "in doubt" : "refused";
    }
    tell({ wish, outcome, events: 1 });
  }
}

test(
  `a server that is killed with two batches in the air has what was acknowledged, in ${rounds} rounds`,
  { timeout: rounds * 60_000 },
  async () => {
    const flags = ["synchronous_commit=off", "wal_writer_delay=10s"];
    const server = await startServer({ flags: flags.flatMap((flag) => ["-c", flag]) });
    onCleanup(() => server.stop());
    const { proxy, url, direct } = await behindProxy(server.url);
    let guards = 0;
    proxy.hear = (text) => void (/\bln\(/.test(text) && guards++);
    const chance = seededNumbers(runSeed);
    const ledger = await open(url, { busyTimeoutMs: 60_000 });
    const told: Told[] = [];

    for (let round = 0; round < rounds; round++) {
      const killed = new AbortController();
      const calling = Promise.all(
        Array.from({ length: callers }, (_, n) =>
          call(ledger, `${round}-${n}`, killed.signal, (each) => void told.push(each)),
        ),
      );
      const enough = guards + 10 + Math.floor(40 * chance());
      let wrong = false;
      calling.catch(() => (wrong = true));
      await expect.poll(() => wrong || guards > enough, { interval: 1 }).toBe(true);
      killed.abort();
      await server.kill();
      await server.restart();
      await calling;
    }

    const other = await open(direct);
    const counts = await judge(told, other);
    expect(counts.done).toBeGreaterThan(rounds * callers);
    expect(counts.inDoubt).toBe(0);
    await expectSound(other);
  },
);
