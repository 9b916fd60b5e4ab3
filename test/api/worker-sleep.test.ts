/** G10: a host that sleeps. Two ledgers on one store, each with its own clock: that of the sleeper stands still, then its wall time
 *  has jumped, and its timers know nothing of it. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";
import { describeStores, onCleanup } from "../engine/fixture.js";
import { passUntil, settled, statusOf, until, work } from "./working.js";

const takenOver = { code: "FENCED", details: { reason: "generation" } };

describeStores("a worker whose host slept", (_, openStoreOf) => {
  test.each(["writes first", "is told first"] as const)(
    "G10 is refused when it wakes and %s: another one has the job, and nothing is done twice",
    async (how) => {
      const store = await openStoreOf();
      const [mine, others] = [manualClock(), manualClock()];
      const ledger = await openLedger(store, { clock: mine, testing: {} });
      const elsewhere = await openLedger(store, { clock: others, testing: {} });
      onCleanup(() => ledger.close());
      onCleanup(() => elsewhere.close());
      await ledger.queue.enqueue({ runId: "r1" });
      const sleeper = work(ledger, { holder: "A", leaseMs: 60_000 });
      await until(() => sleeper.jobs.length === 1);
      const { job, fail } = sleeper.jobs[0]!;

      const other = work(elsewhere, { holder: "B", leaseMs: 60_000 });
      await passUntil(others, () => other.jobs.length === 1, 5_000);
      mine.set(others.now());
      const output = [{ type: "note.added", data: { by: "A" } }];
      if (how === "writes first") {
        const refused: unknown = await ledger
          .append("note/1", output, { fence: job.fence })
          .catch((error: unknown) => error);
        expect(refused).toMatchObject(takenOver);
        fail(refused);
      } else {
        // The wall clock is one, and passes for both.
        for (const clock of [mine, others]) clock.advance(30_000);
        await until(() => job.signal.aborted);
        await expect(ledger.append("note/1", output, { fence: job.fence })).rejects.toMatchObject(takenOver);
        fail(job.signal.reason);
      }
      await until(() => sleeper.heard.length === 1);
      await settled();

      expect(sleeper.heard[0]).toMatchObject({
        doing: how === "writes first" ? "handle" : "renew",
        error: takenOver,
      });
      expect(sleeper.jobs.length).toBe(1);
      expect(await statusOf(elsewhere, "r1")).toBe("claimed");
      const { job: taken, end } = other.jobs[0]!;
      expect(taken.item).toMatchObject({ generation: 2, superseded: 1, failures: 0 });
      await elsewhere.append("note/1", [{ type: "note.added", data: { by: "B" } }], { fence: taken.fence });
      end();
      await until(async () => (await statusOf(elsewhere, "r1")) === "done");

      const notes = await elsewhere.readStream("note/1").toArray();
      expect(notes.map(({ data }) => data)).toEqual([{ by: "B" }]);
      const events = await elsewhere.readStream("queue/r1").toArray();
      expect(events.filter(({ type }) => type === "queue.completed").map(({ fence }) => fence)).toEqual([
        ["queue/r1", 1, 2],
      ]);
    },
  );
});
