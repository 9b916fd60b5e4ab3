/** Claims and fences that the engine recorded, verified deep by the ledger itself: as they are, and after somebody wrote past
 *  it. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { accept, defineCommand, defineEvents, entryId, openRawReader, queueCommands } from "../../src/index.js";
import type { Fence, Ledger, Store, VerifyReport } from "../../src/index.js";
import { verify } from "../../src/forensic/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { withoutGuards } from "../cli/damage.js";
import { describeStores, ledgerPath, open } from "./fixture.js";
import { appendRaw } from "./raw-append.js";

const workEvents = defineEvents("work", { open: false }, { "work.noted": {} });
const note = defineCommand("work.note", { decide: () => accept([{ stream: "work/1", type: "work.noted" }], null) });
const options = { events: [workEvents], commands: [note] };
const leaseMs = 1_000;

const deep = (ledger: Ledger): Promise<VerifyReport> => ledger.verify({ level: "deep" });

/** The run r1 is claimed, taken over, and its first holder comes back; the second is at work. Answers both fences. */
async function work(ledger: Ledger, clock: ReturnType<typeof manualClock>): Promise<readonly [Fence, Fence]> {
  await ledger.queue.enqueue({ runId: "r1" });
  const first = await ledger.queue.claimNext({ holder: "A", leaseMs });
  await ledger.queue.renew(first!.fence, 2 * leaseMs);
  await ledger.execute(note(), { fence: first!.fence });
  clock.advance(2 * leaseMs);
  const second = await ledger.queue.claimNext({ holder: "B", leaseMs });
  await ledger.execute([note(), note()], { fence: second!.fence, id: "two" });
  return [first!.fence, second!.fence];
}

describeStores("claims and fences", (openOne, openStoreOf) => {
  test("are legal over the whole life of an item, and counted", async () => {
    const clock = manualClock();
    const ledger = await openOne({ ...options, clock });
    const [first, second] = await work(ledger, clock);
    await expect(ledger.append("note/1", [{ type: "note.added" }], { fence: first })).rejects.toThrow();
    await ledger.execute([queueCommands.complete({ runId: "r1" })], { fence: second });

    expect(await deep(ledger)).toMatchObject({
      verdict: "OK",
      findings: [],
      checked: { claims: 2, fencedEvents: 5 },
    });
  });

  test("that were refused to calls with an id stand beside the receipt of it, once", async () => {
    const clock = manualClock();
    const ledger = await openOne({ ...options, clock });
    const [first] = await work(ledger, clock);
    for (const id of ["one", "one", "other"])
      await expect(ledger.execute(note(), { fence: first, id })).rejects.toMatchObject({ code: "FENCED" });

    const refusals = await ledger.readStream("fence/queue/r1").toArray();
    expect(refusals.map(({ type }) => type)).toEqual(["fence.refused"]);
    expect(await deep(ledger)).toMatchObject({ verdict: "OK", findings: [], checked: { receipts: 3 } });
  });

  test("of a list that let go of its own claim are refused as released, and that record is legal", async () => {
    const clock = manualClock();
    const ledger = await openOne({ ...options, clock });
    const [, second] = await work(ledger, clock);
    await expect(ledger.execute([queueCommands.park({ runId: "r1" }), note()], { fence: second })).rejects.toThrow();

    const [refusal] = await ledger.readStream("fence/queue/r1").toArray();
    expect(refusal?.data).toMatchObject({ generation: 2, reason: "released" });
    expect(await deep(ledger)).toMatchObject({ verdict: "OK", findings: [] });
    await ledger.queue.complete(second);
  });

  type Forgery = (store: Store, ledger: Ledger, clock: ReturnType<typeof manualClock>) => Promise<number>;
  const taken = (generation: number, superseded: number | null, at: number): object => ({
    claim: { holder: "M", generation, tokenHash: "ab".repeat(32), expiresAt: at + leaseMs, superseded },
  });
  const at = async (ledger: Ledger): Promise<number> => (await ledger.status()).head.at;
  const forgeries: readonly (readonly [title: string, code: string, Forgery])[] = [
    [
      "T61 a claim that was taken while the earlier one was live",
      "E_CLAIM",
      async (store, ledger) => appendRaw(store, "queue/r1", "queue.claimed", taken(3, 2, await at(ledger))),
    ],
    [
      "T61 an event under a claim that was not live any more",
      "E_FENCE",
      async (store, ledger, clock) => {
        clock.advance(leaseMs);
        await ledger.append("note/1", [{ type: "note.added" }]);
        return appendRaw(store, "note/1", "note.added", {}, { fence: ["queue/r1", 1, 2] });
      },
    ],
    [
      "T61 an event under a claim that was taken over",
      "E_FENCE",
      async (store) => appendRaw(store, "note/1", "note.added", {}, { fence: ["queue/r1", 1, 1] }),
    ],
    [
      "T60 the refusal of a generation that was never issued",
      "E_FENCE",
      async (store) => {
        const data = { key: "queue/r1", generation: 3, command: "append", reason: "generation" };
        return appendRaw(store, "fence/queue/r1", "fence.refused", data);
      },
    ],
  ];

  test.each(forgeries)("%s is found by the ledger itself: %s", async (_, code, forge) => {
    const store = await openStoreOf();
    const clock = manualClock();
    const ledger = await open(store, { ...options, clock });
    await work(ledger, clock);
    const position = await forge(store, ledger, clock);

    const report = await deep(ledger);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: position });
    expect(report.findings.map((finding) => [finding.code, finding.position])).toEqual([[code, position]]);
  });
});

/** Changes the text of entries in a file and hashes everything behind them anew, nodes aside. */
function rewrite(path: string, change: (entry: string) => string): void {
  withoutGuards(path, (database) => {
    const rows = database.prepare("SELECT seq, entry FROM entries ORDER BY seq").raw().all() as [number, string][];
    const put = database.prepare("UPDATE entries SET entry = ?, id = ? WHERE seq = ?");
    let previous = "0".repeat(64);
    for (const [seq, text] of rows) {
      const entry = change(text).replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${previous}"`);
      previous = entryId(entry);
      put.run(entry, Buffer.from(previous, "hex"), seq);
    }
    database.exec("DELETE FROM nodes; DELETE FROM folded; UPDATE projections SET position = -1, entry_id = NULL");
  });
}

describe("T61 a file that was rewritten to the last hash", () => {
  const rewritings: readonly (readonly [title: string, change: (entry: string) => string, code: string, at: string])[] =
    [
      [
        "so that the first holder had more time than it was given",
        (entry) => entry.replace(/"expiresAt":(\d+)\},"fence"/, (_, ms) => `"expiresAt":${Number(ms) + 1}},"fence"`),
        "E_CLAIM",
        "queue.claimed",
      ],
      [
        "so that somebody else wrote what the first holder wrote",
        (entry) =>
          entry.includes('"type":"work.noted"') ? entry.replace('["queue/r1",1,1]', '["queue/r1",1,2]') : entry,
        "E_FENCE",
        "work.noted",
      ],
      [
        "so that nobody was taken over",
        (entry) => entry.replace('"superseded":1', '"superseded":null'),
        "E_CLAIM",
        "queue.claimed",
      ],
    ];

  test.each(rewritings)("%s", async (_, change, code, type) => {
    const path = ledgerPath();
    const clock = manualClock();
    const ledger = await open(path, { ...options, clock });
    await work(ledger, clock);
    await ledger.close();
    rewrite(path, (entry) => entry); // hashed anew, nothing is found but what was taken away
    const before = await verifyFile(path);
    rewrite(path, change);
    const report = await verifyFile(path);

    expect(before.findings.filter(({ class: points }) => points === "tampering")).toEqual([]);
    const [finding, ...more] = report.findings.filter(({ class: points }) => points === "tampering");
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ code, position: report.firstBad });
    const database = new Database(path, { readonly: true });
    const entry = database.prepare("SELECT entry FROM entries WHERE seq = ?").pluck().get(finding!.position);
    database.close();
    expect(entry).toContain(`"type":"${type}"`);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });
});

async function verifyFile(path: string): Promise<VerifyReport> {
  const reader = await openRawReader(path);
  try {
    return await verify(reader, { level: "deep" });
  } finally {
    await reader.close();
  }
}
