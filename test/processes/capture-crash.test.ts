/** SIGKILL at every durable step of a capture: what is left is dense, whole calls, and everything that was acknowledged. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { numbersOf, range, recordsOf } from "../api/session-fixture.js";
import { freshPlace, killedAt, sharedStoreNames } from "../engine/fixture.js";
import { expectKilled, runChild } from "./child.js";
import type { Finished } from "./child.js";

interface Said {
  readonly bound?: true;
  readonly events?: number;
  readonly finished?: true;
  readonly step?: string;
  readonly moment?: string;
}

/** How many records there may be: whole calls, and nothing between. */
const wholeCalls = [0, 1, 201, 402, 1_402];

const saidBy = (child: Finished): readonly Said[] => child.lines.map((line) => JSON.parse(line) as Said);

async function check(path: string, child: Finished): Promise<void> {
  const said = saidBy(child);
  const acknowledged = Math.max(0, ...said.map(({ events = 0 }) => events));
  const ledger = await openLedger(path);
  try {
    const { verdict, findings } = await ledger.verify({ level: "deep" });
    expect({ verdict, findings }).toEqual({ verdict: "OK", findings: [] });
    const capture = await ledger.sessions.get("r1");
    if (said.some(({ bound }) => bound)) expect(capture).not.toBeNull();
    if (capture === null) return;
    expect(wholeCalls).toContain(capture.events);
    expect(capture.events).toBeGreaterThanOrEqual(acknowledged);
    if (said.some(({ finished }) => finished)) expect(capture.status).toBe("complete");
    const records = await recordsOf(ledger);
    expect(numbersOf(records)).toEqual(range(1, capture.events));
    for (const { number, content } of records) expect(content?.text()).toBe(`line ${number}`);
    if (capture.status !== "recording") return;
    // Whoever comes next goes on behind what is there.
    const next = { runId: "r1", from: capture.events + 1, records: [{ type: "stdout", payload: "more" }] };
    expect(await ledger.sessions.appendEvents(next)).toMatchObject({ events: capture.events + 1 });
  } finally {
    await ledger.close();
  }
}

test.each(sharedStoreNames)(
  "a process that is killed at any step of a capture leaves dense records, whole calls, and all that it was told of, on %s",
  { timeout: 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const whole = await runChild("capturer.mjs", [path, "0"]);
    expect(whole).toMatchObject({ code: 0, stderr: "" });
    await check(path, whole);
    const steps = saidBy(whole).flatMap(({ step, moment }) => (step === undefined ? [] : [`${step} ${moment}`]));
    for (const step of ["contents", "entries", "streams", "documents", "commit"])
      expect(steps).toEqual(expect.arrayContaining([`${step} before`, `${step} after`]));

    // At its last of a kind most has happened before.
    const chosen = killedAt(name, steps, 40, "last");
    for (const k of chosen) {
      const killed = freshPlace(name);
      const child = await runChild("capturer.mjs", [killed, String(k)]);
      expectKilled(child, k, steps.length);
      await check(killed, child).catch((cause: unknown) => {
        throw new Error(`killed at call ${k}, ${steps[k - 1]}: ${(cause as Error).message}`, { cause });
      });
    }
    process.stdout.write(`killed at ${chosen.length} of ${steps.length} calls of the fault seam\n`);
  },
);
