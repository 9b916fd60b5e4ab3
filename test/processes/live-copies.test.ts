/** A06: copies that SQLite itself makes under writers that never pause. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import { openLedger, openRawReader } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { directory, ledgerPath, open } from "../engine/fixture.js";
import { startChild } from "./child.js";

const streams = ["thing/1", "thing/2", "journal/main"];

async function idsOf(ledger: Ledger): Promise<readonly (readonly string[])[]> {
  return Promise.all(
    streams.map(async (stream) =>
      (await ledger.readStream(stream).toArray()).map(({ revision, id }) => `${revision} ${id}`),
    ),
  );
}

test(
  "A06 a copy by VACUUM INTO, 20 times under two processes that append without pause, verifies and holds an unbroken prefix of each stream",
  { timeout: 300_000 },
  async () => {
    const path = ledgerPath();
    await (await openLedger(path)).close();
    const writers = ["thing/1", "thing/2"].map((stream) =>
      startChild("appender.mjs", [path, stream, "10000000", stream, "16"]),
    );
    await Promise.all(writers.map((writer) => writer.line("{")));
    const place = directory();
    const copies = Array.from({ length: 20 }, (_, index) => join(place, `copy-${index}`));

    for (const copy of copies) {
      const plain = new Database(path, { readonly: true });
      plain.prepare("VACUUM INTO ?").run(copy);
      plain.close();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const writer of writers) writer.process.kill("SIGKILL");
    await Promise.all(writers.map((writer) => writer.finished));

    const whole = await idsOf(await open(path));
    const sizes: number[] = [];
    for (const copy of copies) {
      const reader = await openRawReader(copy);
      const report = await verify(reader);
      await reader.close();
      expect(report).toMatchObject({ verdict: "OK", findings: [], copied: false });
      expect(report.evidence.files.map(({ name }) => name)).toEqual([copy]);
      sizes.push(report.size);

      const ledger = await open(copy, { readOnly: true });
      const ids = await idsOf(ledger);
      expect(ids.flat()).toHaveLength(report.size);
      for (const [index, found] of ids.entries()) expect(found).toEqual(whole[index]!.slice(0, found.length));
    }
    expect(sizes).toEqual([...sizes].sort((one, other) => one - other));
    expect(sizes.at(-1)).toBeGreaterThan(sizes[0]!);
    // A copy is a ledger of its own: it can be gone on from.
    copyFileSync(copies[19]!, `${place}/mine`);
    const mine = await open(`${place}/mine`);
    await mine.append("thing/1", [{ type: "thing.wentOn" }]);
    expect(await mine.verify()).toMatchObject({ verdict: "OK", size: sizes.at(-1)! + 1 });
  },
);
