/** The engine against the reference model of queue, claims and receipts, call by call, on every store. */
import { expect, test } from "vitest";
import { compareWithModel } from "../../src/testing/simulation/lockstep.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openStore, runSeed, storeNames } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

/** What a caller may be told; each must occur. */
const everyAnswer = [
  "ALREADY_EXISTS",
  "FENCED expired",
  "FENCED generation",
  "FENCED incarnation",
  "FENCED key",
  "FENCED missing",
  "FENCED released",
  "FENCED token",
  "IDEMPOTENCY_CONFLICT",
  "ILLEGAL_TRANSITION",
  "NOT_FOUND",
  "SLOT_TAKEN",
  "accepted",
];

test.each(storeNames)(
  "on %s every call is answered as the reference model says, and leaves what it says",
  { timeout: 3_600_000 },
  async (name) => {
    for (let run = 0; run < (name === "memory" ? 8 : 2) * (long ? 60 : 1); run++) {
      const seed = runSeed + run;
      const { difference, history } = await compareWithModel({ seed, store: await openStore(name) });
      expect(difference, `RUNLEDGER_SEED=${seed}, on ${name}\n${history.join("\n")}`).toBe(null);
    }
  },
);

test(
  "histories hold every answer that a caller may be told, and more that are accepted than are not",
  { timeout: 600_000 },
  async () => {
    const seen: Record<string, number> = {};
    for (let seed = 1; seed <= 20; seed++) {
      const { answers } = await compareWithModel({ seed, store: createMemoryStore(), calls: 100 });
      for (const [answer, count] of Object.entries(answers)) seen[answer] = (seen[answer] ?? 0) + count;
    }

    expect(Object.keys(seen).sort()).toEqual(everyAnswer);
    expect(seen["accepted"]).toBeGreaterThan(1_000);
  },
);
