import { afterEach, describe, expect, test } from "vitest";
import type { OwnedRun } from "../../../src/cli/exec/exec-run.js";
import { HeldClaim } from "../../../src/cli/exec/held-claim.js";
import { RunRecord } from "../../../src/cli/exec/run-record.js";
import type { AttemptEnd } from "../../../src/cli/exec/run-record.js";
import { LedgerError } from "../../../src/index.js";
import type { Fence, Ledger } from "../../../src/index.js";

const fence: Fence = { key: "queue/r1", incarnation: 1, generation: 1, token: "0123456789abcdef" };
const held: HeldClaim[] = [];
afterEach(() => {
  for (const claim of held.splice(0)) claim.stop();
});

const done: AttemptEnd = {
  attemptId: "command.1",
  exit: { code: 0 },
  durationMs: 1,
  capture: { status: "complete" },
};

/** A record in a ledger whose writes fail so, one after the other, and then do not. `found`: what it has to show then. */
function recordIn(
  codes: readonly string[],
  { leaseMs = 60_000, found = {} }: { leaseMs?: number; found?: object } = {},
) {
  const failures = [...codes];
  let writes = 0;
  const write = async (): Promise<object> => {
    writes++;
    const code = failures.shift();
    if (code !== undefined) throw new LedgerError(code, code);
    return { position: 7, ids: ["ab"] };
  };
  const lost: string[] = [];
  const ledger = {
    execute: write,
    sessions: { appendEvents: write, get: async () => found },
    runs: { get: async () => found },
    queue: { get: async () => found, renew: async () => ({ cancel: null }) },
  } as unknown as Ledger; // all that is asked of it
  const claim = new HeldClaim(
    ledger,
    { fence, leaseMs, since: performance.now() },
    { lost: ({ message }) => lost.push(message), cancelled: () => {} },
  );
  held.push(claim);
  const run: OwnedRun = {
    runId: "r1",
    fence,
    leaseMs,
    since: 0,
    command: ["true"],
    cwd: "/",
    retries: 0,
    isStarted: true,
    attempts: 1,
    failures: 0,
  };
  return { record: new RunRecord(ledger, run, claim), claim, lost, writes: () => writes };
}

const lines = [{ type: "stdout", payload: "a" }] as const;

describe("the record of a run", () => {
  test("waits for a store that is busy, as long as the lease lasts", async () => {
    const soon = recordIn(["STORE_BUSY", "OVERLOADED", "STORE_UNAVAILABLE"]);
    await soon.record.append("command.1", 1, lines);
    expect(soon.writes()).toBe(4);

    const { record, claim, writes } = recordIn(Array<string>(100).fill("STORE_BUSY"));
    claim.stop();
    await expect(record.append("command.1", 1, lines)).rejects.toMatchObject({ code: "STORE_BUSY" });
    expect(writes()).toBe(1);
  });

  test("does not wait for room while output comes, and does for the end of a run", async () => {
    const output = recordIn(["STORE_FULL"]);
    await expect(output.record.append("command.1", 1, lines)).rejects.toMatchObject({ code: "STORE_FULL" });

    const { record, claim, writes } = recordIn(["STORE_FULL", "STORE_FULL"]);
    await record.end(done, { type: "completed", exit: { code: 0 } });
    expect([writes(), claim.isHeld, record.head]).toEqual([3, false, { position: 7, id: "ab" }]);
  });

  test("looks after a write without an answer whether it was written, and writes nothing twice", async () => {
    const output = recordIn(["STORE_IN_DOUBT"], { found: { events: 1 } });
    await output.record.append("command.1", 1, lines);
    expect(output.writes()).toBe(1);

    const end = recordIn(["STORE_IN_DOUBT"], { found: { status: "completed" } });
    await end.record.end(done, { type: "completed", exit: { code: 0 } });
    expect([end.writes(), end.lost]).toEqual([1, []]);

    const again = recordIn(["STORE_IN_DOUBT"], { found: { status: "running", events: 0 } });
    await again.record.end(done, { type: "completed", exit: { code: 0 } });
    expect(again.writes()).toBe(2);
  });

  test("gives the claim up when a write is refused because of it", async () => {
    const { record, claim, lost } = recordIn(["FENCED"]);
    await expect(record.append("command.1", 1, lines)).rejects.toMatchObject({ code: "FENCED" });
    expect([claim.isHeld, lost]).toEqual([false, ["FENCED"]]);
  });
});
