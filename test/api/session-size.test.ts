/** What large output costs on disk: real files, closed, so that all of it is in one. */
import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { ledgerPath } from "../engine/fixture.js";
import { bindCapture, recordsOf } from "./session-fixture.js";

const MiB = 1024 * 1024;

interface Report {
  saves: number;
  output: ContentReference;
}

/** Saved again by each event of a report. */
const reports = defineProjection<Report, { "report.saved": { output: ContentReference } }>()({
  name: "report",
  version: 1,
  on: {
    "report.saved": {
      key: ({ stream }) => stream,
      apply: (report, { data: { output } }) => ({ saves: (report?.saves ?? 0) + 1, output }),
    },
  },
});

/** By how much a ledger grows on disk. */
async function growthOf(work: (ledger: Ledger) => Promise<void>): Promise<number> {
  const path = ledgerPath();
  const during = async (use: (ledger: Ledger) => Promise<void>): Promise<number> => {
    const ledger = await openLedger(path, { projections: [reports] });
    await use(ledger);
    await ledger.close();
    return statSync(path).size;
  };
  const before = await during(async (ledger) => {
    await bindCapture(ledger);
    await ledger.append("report/1", [{ type: "report.saved", data: { output: content("x") } }]);
  });
  return (await during(work)) - before;
}

test("I10 output of 1 MiB that 20 records hold and 20 saves of a document name costs one MiB, not 40", async () => {
  const output = Buffer.alloc(MiB - 200, seededBytes(7)(1_000));
  const growth = await growthOf(async (ledger) => {
    for (let number = 1; number <= 20; number++) {
      const records = [{ type: "stdout", payload: output }];
      await ledger.sessions.appendEvents({ runId: "r1", from: number, records });
      const { reference } = (await recordsOf(ledger, "r1", { limit: 1 }))[0]!;
      // By reference, and by its bytes: either way it is the one that is there.
      const again = number % 2 === 0 ? reference : content(output);
      await ledger.append("report/1", [{ type: "report.saved", data: { output: again } }]);
    }

    expect(await ledger.projection(reports).get("report/1")).toMatchObject({
      saves: 21,
      output: { bytes: output.length },
    });
    expect(await ledger.sessions.get("r1")).toMatchObject({ events: 20, bytes: 20 * output.length });
    for (const record of await recordsOf(ledger)) expect(output.equals(record.content!.bytes)).toBe(true);
    expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
  });

  expect(growth).toBeGreaterThan(MiB - 200);
  expect(growth).toBeLessThan(1.2 * MiB);
});
