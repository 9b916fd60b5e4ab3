/** Two versions of one program on one file: each keeps a table of its own shape, and neither is in the way of the other. */
import { expect, test } from "vitest";
import { openRawReader } from "../../src/index.js";
import { verify } from "../../src/forensic/verify.js";
import { ledgerPath, runSeed } from "../engine/fixture.js";
import { area, openLedger, replay, stock } from "../examples/stock-area.js";
import { runChild } from "./child.js";
import type { Finished } from "./child.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const ms = String(long ? 60_000 : 2_000);

interface Told {
  readonly accepted: number;
  readonly refused: number;
  readonly mixed: number;
  readonly same: boolean | null;
  readonly verdict: string;
  readonly findings: readonly { readonly code: string }[];
}

function told({ code, stderr, lines }: Finished): Told {
  expect([code, stderr]).toEqual([0, ""]);
  const said = JSON.parse(lines[0]!) as Told;
  return { ...said, findings: otherFindings(said.findings) };
}

/** But for the one that says that a table is another program's. */
function otherFindings(findings: Told["findings"]): Told["findings"] {
  return findings.filter(({ code }) => code !== "W_PROJECTION_UNKNOWN");
}

let programs = 0;
const version = (path: string, number: 1 | 2, duration = "0"): Promise<Finished> =>
  runChild("stock-version.mjs", [path, String(number), duration, String(runSeed + ++programs)]);

async function expectInOrder(path: string): Promise<void> {
  const ledger = await openLedger(path, area);
  const replayed = (await replay([stock], ledger.read())).projection(stock);
  expect(await ledger.projection(stock).find()).toEqual(replayed.find());
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  expect([verdict, otherFindings(findings)]).toEqual(["OK", []]);
  await ledger.close();
  const reader = await openRawReader(path);
  expect(await verify(reader, { level: "full" })).toMatchObject({ verdict: "OK", findings: [] });
  await reader.close();
}

test("E10 what an old version kept is folded anew by a new one, whose reads never show the old shape, and the old one goes on", async () => {
  const path = ledgerPath();

  for (const number of [1, 2, 1, 2] as const) {
    const { mixed, same, verdict, findings } = told(await version(path, number));
    expect({ mixed, same, verdict, findings }).toEqual({ mixed: 0, same: true, verdict: "OK", findings: [] });
  }

  await expectInOrder(path);
});

test(
  "E10 two processes of different versions write one file at once, and both verify deep",
  { timeout: 600_000 },
  async () => {
    const path = ledgerPath();

    const [one, two] = (await Promise.all([version(path, 1, ms), version(path, 2, ms)])).map(told);

    for (const each of [one!, two!]) {
      expect(each.accepted).toBeGreaterThan(5);
      const { mixed, verdict, findings } = each;
      expect({ mixed, verdict, findings }).toEqual({ mixed: 0, verdict: "OK", findings: [] });
      expect(each.same).not.toBe(false);
    }
    await expectInOrder(path);
    const again = told(await version(path, 2));
    expect([again.mixed, again.same, again.verdict]).toEqual([0, true, "OK"]);
  },
);
