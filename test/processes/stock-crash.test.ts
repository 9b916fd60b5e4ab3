/** SIGKILL at every durable step of a process that executes commands with receipts and keeps documents: behind each death the
 *  documents are the fold of the events, everything that was answered is there, and deep verification finds nothing. */
import { expect, test } from "vitest";
import type { ExecuteResult, LedgerError } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { freshPlace, killedAt, runSeed, sharedStoreNames } from "../engine/fixture.js";
import { area, openLedger, receive, replay, reserve, stock } from "../examples/stock-area.js";
import { runChild } from "./child.js";
import type { Finished } from "./child.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

interface Said {
  readonly id?: string;
  readonly kind?: "receive" | "reserve";
  readonly input?: object;
  readonly answer?: { readonly ids?: readonly string[]; readonly code?: string };
  readonly ids?: readonly string[];
}

/** What the child says of an answer, and whether it is an earlier one. */
async function answerTo(
  execution: Promise<ExecuteResult>,
): Promise<{ readonly adopted: boolean; readonly answer: object }> {
  try {
    const { result, position, ids, adopted } = await execution;
    return { adopted, answer: { result, position, ids } };
  } catch (error) {
    const { code, details, adopted } = error as LedgerError; // anything else has none of them, and differs
    return { adopted, answer: { code, details } };
  }
}

/** Holds what is stored against what was said, and against itself. */
async function check(path: string, child: Finished): Promise<void> {
  const said = child.lines.map((line) => JSON.parse(line) as Said);
  const ledger = await openLedger(path, area);
  try {
    const events = await ledger.read().toArray();
    const stored = new Set(events.map((event) => event.id));
    for (const { ids, answer } of said)
      for (const id of [...(ids ?? []), ...(answer?.ids ?? [])]) expect(stored).toContain(id);
    const receipts = events.filter(({ type }) => type === "receipt.recorded").map(({ data }) => data["id"]);
    expect(receipts).toEqual([...new Set(receipts)]);

    const replayed = (await replay([stock], ledger.read())).projection(stock);
    expect(await ledger.projection(stock).find()).toEqual(replayed.find());
    expect(await ledger.projection(stock).find({ index: "byFree" })).toEqual(replayed.find({ index: "byFree" }));
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });

    // Sent again, each gets the answer that it got.
    for (const { id, kind, input, answer } of said) {
      if (id === undefined || input === undefined) continue;
      const again = await answerTo(ledger.execute(kind === "receive" ? receive(input) : reserve(input), { id }));
      expect(JSON.parse(JSON.stringify(again))).toEqual({ adopted: true, answer });
    }
  } finally {
    await ledger.close();
  }
}

test.each(sharedStoreNames)(
  "E01 a process that is killed at any durable step leaves documents that are the fold of the events, and verifies deep, on %s",
  { timeout: 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const whole = await runChild("stock-crasher.mjs", [path, "0", "1"]);
    expect(whole).toMatchObject({ code: 0, stderr: "" });
    const steps = whole.lines.flatMap((line) => (JSON.parse(line) as { readonly step?: string }).step ?? []);
    for (const step of ["schema", "entries", "contents", "projections", "documents", "commit"])
      expect(steps).toContain(`${step} before`);

    const chosen = killedAt(name, steps, 60);
    let deaths = 0;
    for (const k of chosen) {
      const killed = freshPlace(name);
      const child = await runChild("stock-crasher.mjs", [killed, String(k), "1"]);
      expect([k, child.stderr]).toEqual([k, ""]);
      // How callers share commits depends on how busy the machine is: the last steps may not be reached again.
      if (child.signal === null) expect(child.lines.at(-1)).toBe('{"closed":true}');
      else deaths++;
      await check(killed, child).catch((cause: unknown) => {
        throw new Error(`killed at call ${k}, ${steps[k - 1]}: ${(cause as Error).message}`, { cause });
      });
    }
    expect(deaths).toBeGreaterThan(chosen.length / 2);
    process.stdout.write(`killed at ${deaths} of ${steps.length} calls of the fault seam\n`);
  },
);

test.each(sharedStoreNames)(
  "a ledger that dies again and again stays in order, on %s",
  { timeout: 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const next = seededNumbers(runSeed);
    for (let round = 1; round <= (long ? 200 : 3); round++) {
      const k = 1 + Math.floor(next() * 120);
      const child = await runChild("stock-crasher.mjs", [path, String(k), String(round)]);
      expect(child.stderr).toBe("");
      await check(path, child).catch((cause: unknown) => {
        throw new Error(`round ${round}, killed at call ${k}: ${(cause as Error).message}`, { cause });
      });
    }
  },
);
