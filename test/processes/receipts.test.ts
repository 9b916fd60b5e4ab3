/** Commands with ids from processes that race, and that are killed: each id is carried out once. */
import { expect, test } from "vitest";
import { accept, content, defineCommand, defineEvents, openLedger, refuse } from "../../src/index.js";
import type { Ledger, LedgerError } from "../../src/index.js";
import { freshPlace, killedAt, sharedStoreNames } from "../engine/fixture.js";
import { runChild } from "./child.js";
import type { Finished } from "./child.js";

interface Answer {
  readonly order: number;
  readonly adopted: boolean;
  readonly [member: string]: unknown;
}

const answersOf = (child: Finished): Answer[] =>
  child.lines.map((line) => JSON.parse(line) as Answer).filter(({ order }) => order !== undefined);

const events = [defineEvents("order", { open: false }, { "order.placed": {} })];
/** The command of the child, as another version of it: what it would answer now is never asked for. */
const place = defineCommand("order.place", {
  decide: (_, { order }: { readonly order: number }, context) =>
    order % 5 === 4
      ? refuse("SOLD_OUT", { order })
      : accept([{ stream: `order/${order}`, type: "order.placed", data: { order, note: content(`note ${order}`) } }], {
          number: context.newId(),
        }),
});

async function send(ledger: Ledger, order: number): Promise<Answer> {
  try {
    const { result, position, at, adopted } = await ledger.execute(place({ order }), {
      id: `c${order}`,
      client: "sender",
    });
    return { order, result, position, at, adopted };
  } catch (error) {
    const { code, message, details, adopted } = error as LedgerError;
    return { order, code, message, details, adopted };
  }
}

/** Each id has one receipt, each accepted one its one event, and everybody was told the same. */
async function check(path: string, said: readonly Answer[], count: number): Promise<void> {
  const ledger = await openLedger(path, { events, commands: [place] });
  try {
    const before = new Map<string, number>();
    for (const { type, data } of await ledger.read({ kinds: ["client", "order"] }).toArray()) {
      const key = JSON.stringify([type, data["id"] ?? data["order"]]);
      before.set(key, (before.get(key) ?? 0) + 1);
    }
    expect([...before.values()].filter((times) => times > 1)).toEqual([]);
    for (let order = 0; order < count; order++) {
      const now = await send(ledger, order);
      const told = said.filter((answer) => answer.order === order);
      if (told.length > 0) expect(now.adopted).toBe(true);
      for (const answer of told) expect({ ...answer, adopted: true }).toEqual({ ...now, adopted: true });
      expect(now["code"]).toBe(order % 5 === 4 ? "SOLD_OUT" : undefined);
    }
    const receipts = await ledger.read({ types: ["receipt.recorded"] }).toArray();
    expect(receipts.length).toBe(count);
    expect((await ledger.read({ types: ["order.placed"] }).toArray()).length).toBe(count - Math.floor(count / 5));
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  } finally {
    await ledger.close();
  }
}

test.each(sharedStoreNames)(
  "F01 two processes that send the same ids at once carry each out once and are told the same, on %s",
  async (name) => {
    const path = freshPlace(name);

    const children = await Promise.all([1, 2].map(() => runChild("sender.mjs", [path, "60", "0"])));

    expect(children.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    const said = children.flatMap(answersOf);
    expect(said.length).toBe(240);
    for (let order = 0; order < 60; order++)
      expect(said.filter((answer) => answer.order === order && !answer.adopted).length).toBe(1);
    await check(path, said, 60);
  },
);

test.each(sharedStoreNames)(
  "a command that was sent to a process which is killed at any durable step is sent again and carried out once, on %s",
  { timeout: 600_000 },
  async (name) => {
    const whole = freshPlace(name);
    const child = await runChild("sender.mjs", [whole, "5", "0", "steps"]);
    expect([child.code, child.stderr]).toEqual([0, ""]);
    await check(whole, answersOf(child), 5);
    const steps = child.lines.flatMap((line) => (JSON.parse(line) as { readonly step?: string }).step ?? []);
    for (const step of ["begin", "entries", "contents", "documents", "commit"])
      expect(steps).toContain(`${step} before`);

    const chosen = killedAt(name, steps, 60);
    let deaths = 0;
    for (const k of chosen) {
      const path = freshPlace(name);
      const killed = await runChild("sender.mjs", [path, "5", String(k)]);
      expect([k, killed.stderr]).toEqual([k, ""]);
      // How callers share commits depends on how busy the machine is: the last steps may not be reached again.
      if (killed.signal === null) expect([k, answersOf(killed).length]).toEqual([k, 10]);
      else deaths++;
      await check(path, answersOf(killed), 5).catch((cause: unknown) => {
        throw new Error(`killed at call ${k}, ${steps[k - 1]}: ${(cause as Error).message}`, { cause });
      });
    }
    expect(deaths).toBeGreaterThan(chosen.length / 2);
  },
);
