/** SIGKILL at the steps that change documents: entries, documents, tables and mark of one commit are there together. */
import { expect, test } from "vitest";
import { part } from "../../src/testing/store-documents.js";
import { read } from "../../src/testing/store-histories.js";
import { freshPlace, killedAt, openShared, sharedStoreNames } from "../engine/fixture.js";
import { expectKilled, runChild } from "../processes/child.js";
import type { Finished } from "../processes/child.js";

/** What stands in a table that was there from the transaction `first` on, after the transaction `last`. */
function documentsAfter(first: number, last: number): readonly (readonly [key: string, n: number])[] {
  const found = new Map<string, number>();
  for (let n = first; n <= last; n++) {
    found.set(`d${n % 4}`, n);
    found.delete(`d${(n + 2) % 4}`);
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
}

async function check(path: string, child: Finished): Promise<void> {
  const said = child.lines.map((line) => JSON.parse(line) as { acknowledged?: number });
  const acknowledged = Math.max(-1, ...said.flatMap((line) => line.acknowledged ?? []));
  const store = await openShared(path);
  await read(store, async (reads) => {
    const last = (await reads.head())?.seq ?? -1;
    expect(last).toBeGreaterThanOrEqual(acknowledged);
    const made = [1, 2, 3].filter((id) => 3 * (id - 1) <= last && !(id === 1 && last >= 5));
    expect((await reads.projections()).map(({ id }) => id)).toEqual(made);
    const [entry] = await reads.entriesAt([last]);
    expect(await reads.folded()).toEqual(last === -1 ? null : { position: last, entryId: entry?.id, tables: made });
    for (const id of made) {
      const expected = documentsAfter(3 * (id - 1), last);
      const rows = await reads.documentsByKey(id, null, 100);
      expect(rows).toEqual(expected.map(([key, n]) => ({ key, seq: n, text: `{"n":${n}}` })));
      if (id === 2) continue;
      const byIndex = (await reads.documentsByIndex(id, part(0))).map(({ seq }) => seq);
      expect(byIndex).toEqual(expected.map(([, n]) => n).sort((one, other) => other - one));
    }
  });
  const raw = await store.raw();
  expect(await raw.problems()).toEqual([]);
  await raw.close();
  await store.close();
}

test.each(sharedStoreNames)(
  "a process that is killed at any step leaves documents, tables and mark as of its last entry, on %s",
  { timeout: 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const whole = await runChild("document-crasher.mjs", [path, "0"]);
    expect([whole.code, whole.stderr, whole.lines.at(-1)]).toEqual([0, "", `{"closed":true}`]);
    await check(path, whole);
    const steps = whole.lines
      .map((line) => JSON.parse(line) as { step?: string; moment?: string })
      .flatMap(({ step, moment }) => (step === undefined ? [] : [`${step} ${moment}`]));
    for (const step of ["projections", "documents", "commit"]) expect(steps).toContain(`${step} before`);

    const chosen = killedAt(name, steps, 30);
    for (const k of chosen) {
      const killed = freshPlace(name);
      const child = await runChild("document-crasher.mjs", [killed, String(k)]);
      expectKilled(child, k, steps.length);
      await check(killed, child).catch((cause: unknown) => {
        throw new Error(`killed at call ${k}, ${steps[k - 1]}: ${(cause as Error).message}`, { cause });
      });
    }
  },
);
