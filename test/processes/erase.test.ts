/** Erasures in real processes: killed at every step, and raced by another writer. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference, LedgerError } from "../../src/index.js";
import { freshPlace, killedAt, ledgerPath, open, sharedStoreNames } from "../engine/fixture.js";
import { ownDatabase } from "../postgres/journal.js";
import { expectKilled, runChild, startChild } from "./child.js";
import type { Finished } from "./child.js";

/** Was it erased? All of it, or none; and if so, no byte of it is left after the next open and close. */
async function check(path: string, child: Finished): Promise<boolean> {
  const said = child.lines.map((line) => JSON.parse(line) as { acknowledged?: number });
  const acknowledged = said.find((each) => each.acknowledged !== undefined)?.acknowledged;
  const ledger = await openLedger(path);
  let erased: boolean;
  try {
    expect(await ledger.verify()).toMatchObject({ verdict: "OK", findings: [] });
    const events = await ledger.read().toArray();
    const texts = (events[4]!.data as unknown as { texts: ContentReference[] }).texts;
    const codes: (string | undefined)[] = await Promise.all(
      texts.map((reference) =>
        ledger.content(reference).then(
          () => "stored",
          (error: unknown) => (error as LedgerError).code,
        ),
      ),
    );
    erased = events.length === 6;
    expect(events.slice(5).map(({ type }) => type)).toEqual(erased ? ["content.erased"] : []);
    expect(codes).toEqual(erased ? ["CONTENT_ERASED", "CONTENT_ERASED", "stored"] : ["stored", "stored", "stored"]);
    if (acknowledged !== undefined) expect([erased, acknowledged]).toEqual([true, 5]);
  } finally {
    await ledger.close();
  }
  if (!path.endsWith(".ledger")) return erased;
  const folder = dirname(path);
  const bytes = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  expect([bytes.includes("gone: "), bytes.includes("kept: ")]).toEqual([!erased, true]);
  return erased;
}

test.each(sharedStoreNames)(
  "T50 T54 a process that is killed at any step of an erasure has erased all of it or nothing, and leaves no byte of it, on %s",
  { timeout: 600_000 },
  async (name) => {
    const place = name === "sqlite" ? ledgerPath : await ownDatabase();
    const path = place();
    const whole = await runChild("eraser.mjs", [path, "0"]);
    expect(whole).toMatchObject({ code: 0, stderr: "" });
    expect(whole.lines).toContain(JSON.stringify({ acknowledged: 5, scrubbed: true }));
    expect(await check(path, whole)).toBe(true);
    const steps = whole.lines.flatMap((line) => (JSON.parse(line) as { step?: string }).step ?? []);
    for (const step of ["begin", "entries", "erase", "commit", "scrub", ...(name === "sqlite" ? ["fold"] : [])])
      for (const moment of ["before", "after"]) expect(steps).toContain(`${step} ${moment}`);

    const committed = steps.indexOf("commit after");
    for (const k of killedAt(name, steps, 8)) {
      const [index, step] = [k - 1, steps[k - 1]!];
      const killed = place();
      const child = await runChild("eraser.mjs", [killed, String(index + 1)]);
      expectKilled(child, k, steps.length);
      const erased = await check(killed, child).catch((cause: unknown) => {
        throw new Error(`killed at ${step}: ${(cause as Error).message}`, { cause });
      });
      expect([step, erased]).toEqual([step, index >= committed]);
    }
  },
);

test.each(sharedStoreNames)(
  "another process that names a content is told at once that it is erased, and no event names it afterwards, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledger = await open(path, { busyTimeoutMs: 60_000 });
    await ledger.append("a/1", [{ type: "note.written", data: { text: content("wanted by both") } }]);
    const [first] = await ledger.readStream("a/1").toArray();
    const { text } = first!.data as unknown as { text: ContentReference };
    const copier = startChild("copier.mjs", [path, "a/1"]);
    await copier.line('{"copying"');

    const { position, contents } = await ledger.erase([text.$content], { reason: "race" });

    const { lines, code } = await copier.finished;
    const told = JSON.parse(lines.at(-1)!) as { code: string; erasedBy: number; positions: number[] };
    expect([code, told.code, told.erasedBy]).toEqual([0, "CONTENT_ERASED", position]);
    expect(contents[0]!.entries.map((entry) => entry.position)).toEqual([1, ...told.positions]);
    expect((await ledger.status()).size).toBe(position + 1);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  },
);

test.each(sharedStoreNames)(
  "another process that names a content from another stream keeps it from being erased, or finds it gone, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledger = await open(path, { busyTimeoutMs: 60_000 });
    await ledger.append("a/1", [{ type: "note.written", data: { text: content("wanted by both") } }]);
    const [first] = await ledger.readStream("a/1").toArray();
    const { text } = first!.data as unknown as { text: ContentReference };
    const copier = startChild("copier.mjs", [path, "b/1"]);
    await copier.line('{"copying"');

    await expect(ledger.erase([text.$content], { reason: "race" })).rejects.toMatchObject({
      code: "CONTENT_SHARED",
      details: { streams: ["a/1", "b/1"] },
    });
    const { contents } = await ledger.erase([text.$content], { reason: "race", shared: true });

    const told = JSON.parse((await copier.finished).lines.at(-1)!) as { positions: number[] };
    expect(contents[0]!.entries.map((entry) => entry.position)).toEqual([1, ...told.positions]);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  },
);
