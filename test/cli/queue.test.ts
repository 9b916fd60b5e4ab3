import { describe, expect, test } from "vitest";
import type { Ledger } from "../../src/index.js";
import type { ManualClock } from "../../src/testing/manual-clock.js";
import { call, jsonLines, newLedgerFile, runledger } from "./command.js";
import { filledLedger, t0 } from "./storied.js";

/** One item of each status, made a second apart. */
async function fillEach(ledger: Ledger, clock: ManualClock): Promise<void> {
  const { queue } = ledger;
  const claimed = async (runId: string, leaseMs = 60_000) =>
    (await queue.enqueue({ runId, claim: { holder: `host of ${runId}`, leaseMs } })).fence;
  await queue.enqueue({ runId: "r-queued", availableAt: t0 + 3_600_000, priority: 2, affinity: "gpu" });
  clock.advance(1_000);
  await claimed("r-claimed");
  clock.advance(1_000);
  await queue.park(await claimed("r-parked"), { availableAt: null, reason: "waits for a person" });
  clock.advance(1_000);
  await queue.complete(await claimed("r-done"));
  clock.advance(1_000);
  await queue.requeue(await claimed("r-dead"), { failuresMax: 0, reason: "it fails" });
  clock.advance(1_000);
  await queue.release(await claimed("r-released"));
}

describe("queue", () => {
  test("lists what is on the run queue, the oldest first, in a process of its own", async () => {
    const file = await filledLedger(fillEach);
    const done = await runledger(["queue", "--ledger", file]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout.split("\n")).toEqual([
      "RUN        STATUS   OWNER              LEASE ENDS                AVAILABLE                 RECLAIMS  FAILURES",
      "r-queued   queued   -                  -                         2100-01-01T01:00:00.000Z  0 of 10   0",
      "r-claimed  claimed  host of r-claimed  2100-01-01T00:01:01.000Z  -                         0 of 10   0",
      "r-parked   parked   -                  -                         on request                0 of 10   0",
      "r-done     done     -                  -                         -                         0 of 10   0",
      "r-dead     dead     -                  -                         -                         0 of 10   1",
      "",
    ]);
  });

  test("shows each item as JSON with the same keys, and no hash of a token", async () => {
    const file = await filledLedger(fillEach);
    const done = await call(["queue", "--ledger", file, "--json"]);
    const items = jsonLines(done.stdout);

    expect(items.map(({ run, status }) => [run, status])).toEqual(
      ["queued", "claimed", "parked", "done", "dead"].map((status) => [`r-${status}`, status]),
    );
    expect(new Set(items.map((item) => Object.keys(item).join())).size).toBe(1);
    expect(items[0]).toEqual({
      run: "r-queued",
      status: "queued",
      owner: null,
      generation: 0,
      createdAt: t0,
      updatedAt: t0,
      availableAt: t0 + 3_600_000,
      priority: 2,
      affinity: "gpu",
      parent: null,
      reclaims: 0,
      reclaimsMax: 10,
      failures: 0,
      cancel: null,
      reason: null,
    });
    expect(items[1]).toMatchObject({
      owner: { holder: "host of r-claimed", generation: 1, expiresAt: t0 + 61_000 },
    });
    expect(items[2]).toMatchObject({ availableAt: null, reason: "waits for a person" });
    expect(done.stdout).not.toContain("tokenHash");
  });

  test("I13 an item whose holder died has an owner until its lease ends, and then none", async () => {
    const dies = async (ledger: Ledger): Promise<void> => {
      await ledger.queue.enqueue({ runId: "r1", claim: { holder: "host 1", leaseMs: 5_000 } });
    };
    const living = await filledLedger(dies);
    const over = await filledLedger(async (ledger, clock) => {
      await dies(ledger);
      clock.advance(5_000);
      await ledger.append("note/a", [{ type: "note.taken" }]);
    });

    expect((await call(["queue", "--ledger", living])).stdout).toMatch(
      /r1 +claimed +host 1 +2100-01-01T00:00:05\.000Z/,
    );
    expect((await call(["queue", "--ledger", over])).stdout).toMatch(
      /r1 +claimed +no owner +2100-01-01T00:00:05\.000Z/,
    );
    expect(jsonLines((await call(["queue", "--ledger", over, "--json"])).stdout)).toMatchObject([
      { run: "r1", status: "claimed", owner: null, generation: 1 },
    ]);
  });

  test("says of how many takeovers an item is dead only where there is a number", async () => {
    const file = await filledLedger((ledger) => ledger.queue.enqueue({ runId: "r1", reclaimsMax: 1_000_000 }));

    expect((await call(["queue", "--ledger", file])).stdout).toMatch(/^r1 .* 0 +0$/m);
  });

  test("lists one status, and no more than were asked for", async () => {
    const file = await filledLedger(async ({ queue }) => {
      for (const runId of ["a", "b", "c"]) await queue.enqueue({ runId });
    });
    const runs = async (...args: string[]): Promise<unknown[]> =>
      jsonLines((await call(["queue", "--ledger", file, "--json", ...args])).stdout).map(({ run }) => run);

    expect(await runs("--status", "queued")).toEqual(["a", "b", "c"]);
    expect(await runs("--limit", "2")).toEqual(["a", "b"]);
    expect(await runs("--limit", "3")).toEqual(["a", "b", "c"]);
    const limited = await call(["queue", "--ledger", file, "--limit", "2"]);
    expect(limited.stderr).toBe("there are more; --limit shows more than 2\n");
    expect((await call(["queue", "--ledger", file, "--limit", "3"])).stderr).toBe("");
    const dead = await call(["queue", "--ledger", file, "--status", "dead"]);
    expect(dead).toMatchObject({ code: 0, stdout: "", stderr: "the run queue has no dead items\n" });
  });

  test("lists more than a page of items", async () => {
    const file = await filledLedger(async ({ queue }) => {
      await Promise.all(Array.from({ length: 1_001 }, (_, number) => queue.enqueue({ runId: `r${number}` })));
    });
    const done = await call(["queue", "--ledger", file, "--limit", "5000"]);

    expect(done.stderr).toBe("");
    expect(done.stdout.match(/^RUN /gm)).toHaveLength(1);
    expect(new Set(done.stdout.match(/^r\d+/gm)).size).toBe(1_001);
  });

  test("of a ledger on which nobody queued anything says so, and leaves it as it is", async () => {
    const file = await filledLedger(async () => {});
    const done = await call(["queue", "--ledger", file]);

    expect(done).toMatchObject({ code: 0, stdout: "", stderr: "the run queue has no items\n" });
  });

  test("T46 shows the name of a holder as text, and does not obey it", async () => {
    const file = await filledLedger(({ queue }) =>
      queue.enqueue({ runId: "r1", claim: { holder: "\u202ehost", leaseMs: 60_000 } }),
    );
    for (const form of [[], ["--json"]]) {
      const done = await call(["queue", "--ledger", file, ...form], { terminal: true, env: { TERM: "xterm" } });

      expect(done.code).toBe(0);
      expect(done.stdout).toMatch(/\\u\{?202e/);
      expect(done.stdout).not.toContain("\u202e");
    }
  });

  test.each([
    [["--status", "released"], "--status must be one of queued, claimed, parked, done, dead"],
    [["--limit", "0"], "--limit must be a whole number from 1"],
  ])("refuses %j", async (args, says) => {
    const done = await call(["queue", "--ledger", await filledLedger(fillEach), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(says);
  });

  test("ends with 3 where there is no ledger", async () => {
    expect(await call(["queue", "--ledger", newLedgerFile()])).toMatchObject({ code: 3, stdout: "" });
  });
});
