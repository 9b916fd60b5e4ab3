/** Processes that are killed, or stand still and are killed then, while two batches are on their way: what they acknowledged is
 *  there, and whoever comes next goes on. `RUNLEDGER_LONG=1` makes ten times as many rounds. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, open, runSeed } from "../engine/fixture.js";
import { startChild } from "../processes/child.js";
import { expectSound, journalUrl } from "./place.js";

const rounds = process.env["RUNLEDGER_LONG"] === "1" ? 100 : 10;
const callers = 40;

test(
  `what a process acknowledged before it was killed with two batches in the air is there, in ${rounds} rounds`,
  { timeout: rounds * 30_000 },
  async () => {
    const chance = seededNumbers(runSeed);
    const url = journalUrl();
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      let heard = 0;
      const child = startChild("crowd.mjs", [url, `round${round}`, String(callers)], (line) => {
        if (line === "ready") return;
        heard++;
        const [stream, n] = line.split(" ") as [string, string];
        acknowledged.set(stream, Number(n));
      });
      onCleanup(() => void child.process.kill("SIGKILL"));
      await Promise.race([child.line("ready"), child.finished]);
      const enough = callers * (6 + Math.floor(10 * chance())); // nobody waits for the lock by then
      await expect.poll(() => heard, { timeout: 20_000, interval: 5 }).toBeGreaterThan(enough);

      if (chance() < 0.3) {
        child.process.kill("SIGSTOP");
        await sleep(200 * chance());
      }
      child.process.kill("SIGKILL");
      expect(await child.finished).toMatchObject({ signal: "SIGKILL", stderr: "" });

      // Whoever comes next waits until the server is done with what it was sent.
      const next = await open(url);
      await next.append("after/1", [{ type: "after.written" }]);
      await next.close();
    }

    const ledger = await open(url);
    const there = new Map<string, number>();
    for await (const { stream, revision } of ledger.read()) there.set(stream, revision);
    const lost = [...acknowledged].filter(([stream, n]) => (there.get(stream) ?? 0) < n);
    expect(lost).toEqual([]);
    expect(there.get("after/1")).toBe(rounds);
    await expectSound(ledger);
  },
);
