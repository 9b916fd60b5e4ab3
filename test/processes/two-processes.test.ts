/** Two operating-system processes on one journal: nothing is lost, nothing forks. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { freshPlace, openShared, sharedStoreNames } from "../engine/fixture.js";
import { runChild, startChild } from "./child.js";
import type { Finished } from "./child.js";

interface Acknowledged {
  readonly name: string;
  readonly n: number;
  readonly position: number;
  readonly revision: number;
  readonly id: string;
}

function acknowledged(child: Finished): Acknowledged[] {
  return child.lines.filter((line) => line !== "open").map((line) => JSON.parse(line) as Acknowledged);
}

const histories = [
  ["one stream", "thing/1", "thing/1", "1"],
  ["streams of their own", "thing/1", "thing/2", "1"],
  ["one stream, sixteen callers each", "thing/1", "thing/1", "16"],
] as const;

test.each(sharedStoreNames.flatMap((name) => histories.map(([what, ...history]) => [what, name, ...history] as const)))(
  "F08 two processes that start on an empty journal and write 200 events each to %s fork nothing and lose nothing, on %s",
  async (_, store, one, two, width) => {
    const path = freshPlace(store);

    const children = await Promise.all([
      runChild("appender.mjs", [path, "one", "200", one, width]),
      runChild("appender.mjs", [path, "two", "200", two, width]),
    ]);

    expect(children.map((child) => [child.code, child.stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    const said = children.flatMap(acknowledged);
    expect(said.length).toBe(400);
    const ledger = await openLedger(path);
    const events = await ledger.read({ from: 1 }).toArray();
    const report = await ledger.verify();
    await ledger.close();
    expect(report).toMatchObject({ verdict: "OK", findings: [] });
    expect(events.length).toBe(400);
    expect(new Set(events.map((event) => event.id)).size).toBe(400);
    for (const { name, n, position, revision, id } of said) {
      expect(events[position - 1]).toMatchObject({ position, revision, id, data: { name, n } });
    }
  },
);

test.each(sharedStoreNames)(
  "A01 an append that read before another process committed is not refused for it, on %s",
  async (name) => {
    const path = freshPlace(name);
    await (await openLedger(path)).close();
    const store = await openShared(path);
    const transaction = await store.begin();
    expect(await transaction.streamHeads(["thing/1"])).toEqual([null]);

    // The other process opens, finds the lock taken, and waits for it; it commits to another stream as soon as it can.
    const other = startChild("appender.mjs", [path, "other", "5", "thing/2"]);
    await other.line("open");
    await new Promise((resolve) => setTimeout(resolve, 300));
    await transaction.rollback();
    await store.close();
    const ledger = await openLedger(path);
    const mine = await Promise.all(
      Array.from({ length: 20 }, () => ledger.append("thing/1", [{ type: "thing.happened" }])),
    );
    const finished = await other.finished;

    expect([finished.code, finished.stderr]).toEqual([0, ""]);
    expect(mine.at(-1)!.revision).toBe(20);
    expect((await ledger.readStream("thing/2").toArray()).length).toBe(5);
    expect((await ledger.verify()).verdict).toBe("OK");
    await ledger.close();
  },
);
