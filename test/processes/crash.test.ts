/** SIGKILL at every durable step: what is left is a prefix on a tx boundary with every acknowledged append in it. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { ContentReference, LedgerError } from "../../src/index.js";
import { freshPlace, killedAt, sharedStoreNames } from "../engine/fixture.js";
import { expectKilled, runChild } from "./child.js";
import type { Finished } from "./child.js";

interface Said {
  readonly acknowledged: number;
  readonly first: number;
  readonly position: number;
  readonly count: number;
}

async function check(path: string, child: Finished): Promise<void> {
  const lines = child.lines.map((line) => JSON.parse(line) as Partial<Said> & { erased?: string; checkpoint?: number });
  const said = lines.filter((each): each is Said => each.acknowledged !== undefined);
  const ledger = await openLedger(path);
  try {
    const report = await ledger.verify();
    expect(report).toMatchObject({ verdict: "OK", findings: [] });
    const events = await ledger.read({ from: 1 }).toArray();
    const last = events.at(-1);
    if (last !== undefined) expect(last.position).toBe(last.tx.first + last.tx.count - 1);
    for (const { acknowledged, first, position, count } of said) {
      const mine = events.filter((event) => (event.data as { key: number }).key === acknowledged);
      expect(mine.map((event) => event.position)).toEqual(Array.from({ length: count }, (_, n) => first + n));
      expect(mine.at(-1)!.position).toBe(position);
    }
    const erased = new Map<string, string>();
    for (const event of events) {
      const { body } = event.data as { body?: ContentReference };
      if (body === undefined) continue;
      const code = await ledger.content(body).then(
        () => "stored",
        (error: unknown) => (error as LedgerError).code,
      );
      erased.set(body.$content, code);
      expect(["stored", "CONTENT_ERASED"]).toContain(code);
    }
    for (const line of lines) if (line.erased !== undefined) expect(erased.get(line.erased)).toBe("CONTENT_ERASED");
    const checkpoints = (await ledger.checkpoints()).map(({ size }) => size);
    for (const line of lines) if (line.checkpoint !== undefined) expect(checkpoints).toContain(line.checkpoint);
    await ledger.append("after/1", [{ type: "crash.survived", data: { key: 0 } }]);
  } finally {
    await ledger.close();
  }
}

const passedOn = {
  sqlite: ["create", "schema", "entries", "contents", "nodes", "erase", "operational", "commit", "scrub", "fold"],
  postgres: ["schema", "entries", "contents", "nodes", "erase", "operational", "commit", "scrub"],
};

test.each(sharedStoreNames)(
  "T50 a process that is killed at any durable step leaves a prefix with everything that it acknowledged, on %s",
  { timeout: 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const whole = await runChild("crasher.mjs", [path, "0"]);
    expect(whole).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(whole.lines.at(-1)!)).toEqual({ closed: true });
    await check(path, whole);
    const passed = whole.lines
      .map((line) => JSON.parse(line) as { step?: string; moment?: string })
      .filter((each) => each.step !== undefined);
    const steps = passed.map((each) => `${each.step} ${each.moment}`);
    for (const step of passedOn[name]) expect(steps).toContain(`${step} before`);

    const chosen = killedAt(name, steps, 30);
    for (const k of chosen) {
      const killed = freshPlace(name);
      const child = await runChild("crasher.mjs", [killed, String(k)]);
      expectKilled(child, k, steps.length);
      await check(killed, child).catch((cause: unknown) => {
        throw new Error(`killed at call ${k}, ${steps[k - 1]}: ${(cause as Error).message}`, { cause });
      });
    }
    process.stdout.write(`killed at ${chosen.length} of ${steps.length} calls of the fault seam\n`);
  },
);
