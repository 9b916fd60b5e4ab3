/** Verifying in ranges: whatever is cut, and wherever, the report is that of one pass. */
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import type { VerifyOptions, VerifyProgress, VerifyReport } from "../../src/forensic/index.js";
import { RangeProver } from "../../src/forensic/ranges-prover.js";
import { makeRoom } from "../../src/forensic/ranges.js";
import type { RangeWorkers } from "../../src/forensic/ranges.js";
import { merkleRoot } from "../../src/journal/merkle.js";
import type { RawContent, RawReader } from "../../src/journal/raw-reader.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { LedgerError } from "../../src/kernel/errors.js";
import { fieldsOf, RawJournal } from "../../src/testing/raw-journal.js";
import { editCovered, journalRows, rangesOf, setColumns, start } from "./journal.js";

const long = process.env.RUNLEDGER_LONG === "1";

/** 1,000 entries in which everything reaches over everything: tx of up to 7 entries, streams that take turns, contents that
 *  are named again later and erased later still, causes near and far, events of the journal itself all over. */
function wovenRows(): RawRows {
  const journal = new RawJournal(start, "testing/woven");
  const erasedBy = new Map<number, number>();
  let at = start;
  for (let turn = 0; journal.next < 1_000; turn++) {
    at += turn % 5; // now and then two tx of one time
    const first = journal.next;
    const stream = `log/${turn % 11}`;
    if (turn % 23 === 7) {
      const data = { area: `area${turn}`, kinds: [`kind${turn}`], open: true };
      journal.append(at, [
        { stream: "journal/main", type: "area.defined", data },
        { stream, type: "log.said", data: { turn } },
      ]);
    } else if (turn % 31 === 30) {
      const n = journal.rows.contents.length - 3;
      const { digest } = journal.rows.contents[n - 1] as RawContent;
      const data = { digests: [digest], reason: "asked for" };
      erasedBy.set(n, journal.append(at, [{ stream: "journal/main", type: "content.erased", data }]));
    } else {
      const size = 1 + (turn % 7);
      const text = journal.content(`kept in turn ${turn}`);
      const earlier = journal.rows.contents[(turn * 7) % Math.max(1, text.n - 1)]!;
      const again = { $content: String(earlier.digest), bytes: (earlier.bytes as Buffer).length, n: Number(earlier.n) };
      const events = Array.from({ length: size }, (_, index) => ({
        stream: index % 2 === 0 ? stream : `other/${turn % 3}`,
        type: index === 1 ? "log.kept" : "log.said",
        data: index === 1 ? { text, again } : { turn, index, name: turn % 4 === 0 ? "é😀" : "plain" },
        ...(index === 0 && turn % 3 === 0 && { cause: journal.idAt((first * 7) % first) }),
        ...(index === 2 && { cause: journal.idAt(first - 1), actor: "ann" }),
      }));
      if (size === 1) events[0]!.data = { text, again };
      journal.append(at, events);
    }
  }
  for (const [n, erased] of erasedBy) {
    const row = journal.rows.contents[n - 1] as RawContent;
    journal.rows.contents[n - 1] = { ...row, media: null, salt: null, bytes: null, plain: null, erased };
  }
  return journal.rows;
}

const ownStream = 1; // journal/main, the first stream of every journal

/** Verifies in ranges, and says how many rows were read without their help. */
async function verifyApart(
  rows: RawRows,
  rangeEntries: number,
  options: VerifyOptions = {},
): Promise<{ readonly report: VerifyReport; readonly readHere: number }> {
  let readHere = 0;
  const reader = arrayRawReader(rows, { onEntry: () => readHere++ });
  const report = await verify(reader, { ...options, workers: () => rangesOf(rows, rangeEntries) });
  return { report, readHere };
}

describe("a journal of 1,000 entries", () => {
  let rows: RawRows;
  let whole: VerifyReport;
  beforeAll(async () => {
    rows = wovenRows();
    whole = await verify(arrayRawReader(rows));
  });

  test("is in order, and has what reaches over a cut", () => {
    expect(whole).toMatchObject({ verdict: "OK", findings: [] });
    expect(whole.checked.causes).toBeGreaterThan(200);
    expect(whole.checked.contents).toBeGreaterThan(200);
    expect(whole.lines.find(({ check }) => check === "erased")?.checked).toBeGreaterThan(3);
    expect(rows.entries.filter(({ stream }) => stream === ownStream).length).toBeGreaterThan(15);
  });

  const cuts = Array.from({ length: 1_000 }, (_, index) => index + 1);
  test("cut anywhere gives the same report, and only the journal's own events are read again", async () => {
    const own = rows.entries.filter(({ stream }) => stream === ownStream).length;
    const probes = 30; // how far the journal reaches
    for (const cut of long ? cuts : cuts.filter((each) => each % 31 === 5 || each > 993)) {
      const { report, readHere } = await verifyApart(rows, cut);
      expect(report).toEqual(whole);
      // The first cause makes an index of the ids so far; a range without one of them reads none.
      expect(readHere).toBeLessThan(own + probes + 20);
    }
  });
});

test("checkpoints of every kind of size fit, wherever the journal is cut", async () => {
  const journal = new RawJournal(start, "testing/long");
  while (journal.next < 1_200) journal.append(start + journal.next, [{ stream: "log/1", type: "log.said" }]);
  const { rows } = journal;
  const sizes = [1, 255, 256, 257, 300, 511, 512, 700, 768, 1_100, 1_200];
  const ids = rows.entries.map(({ id }) => String(id));
  const from = sizes.map((size) => {
    const root = Buffer.from(merkleRoot(ids.slice(0, size)), "hex").toString("base64");
    return `testing/long\n${size}\n${root}\n`;
  });
  const whole = await verify(arrayRawReader(rows), { from });

  expect(whole).toMatchObject({ verdict: "OK", findings: [], anchored: { to: 1_199 } });
  for (const cut of [100, 256, 300, 512, 1_200]) expect((await verifyApart(rows, cut, { from })).report).toEqual(whole);
});

describe("a journal that this thread and two workers share", () => {
  const entries = 9_000;
  const rows = ((): RawRows => {
    const journal = new RawJournal(start, "testing/shared");
    for (let turn = 0; journal.next < entries; turn++) {
      const event = { stream: `log/${turn % 7}`, type: "log.said", data: { turn } };
      const cause = turn % 9 === 8 && { cause: journal.idAt(turn) };
      journal.append(start + turn, [{ ...event, ...cause }, event, { ...event, stream: `log/${turn % 300}` }]);
    }
    return journal.rows;
  })();

  test("gives the same report, whatever the sizes of ranges and gaps", async () => {
    const whole = await verify(arrayRawReader(rows));
    expect(whole.verdict).toBe("OK");

    for (const [rangeEntries, gapEntriesMax] of [
      [512, 512],
      [512, 4_096],
      [1_024, 100_000],
      [300, 1_024],
    ] as const) {
      let readHere = 0;
      const reader = arrayRawReader(rows, { onEntry: () => readHere++ });
      const workers = (): RangeWorkers => rangesOf(rows, rangeEntries, { gapEntriesMax });
      expect(await verify(reader, { workers })).toEqual(whole);
      expect(readHere).toBeGreaterThan(Math.min(gapEntriesMax, entries) - 1);
    }
  });

  test("goes on without workers that are gone, from where it is", async () => {
    const whole = await verify(arrayRawReader(rows));
    const able = rangesOf(rows, 512, { gapEntriesMax: 512 });
    let asked = 0;
    let readHere = 0;
    const workers = (): RangeWorkers => ({
      ...able,
      prove: (range) => (asked++ < 4 ? able.prove(range) : Promise.reject(new Error("gone"))),
    });

    expect(await verify(arrayRawReader(rows, { onEntry: () => readHere++ }), { workers })).toEqual(whole);
    expect(readHere).toBeLessThan(whole.checked.entries);
    expect(asked).toBe(6);
  });
});

/** A change of a stored journal: a row that is gone, twice there, in another place, or not what it was. `cover`: an entry is
 *  changed and all later ones are hashed afresh. */
interface Change {
  readonly table: "entries" | "streams" | "types" | "contents" | "streamPages";
  readonly how: "drop" | "double" | "swap" | "change" | "cover";
  readonly where: number;
  readonly member: number;
}

const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    table: fc.constantFrom("entries", "entries", "entries", "streams", "types", "contents", "streamPages"),
    how: fc.constantFrom("drop", "double", "swap", "change", "cover"),
    where: fc.nat(),
    member: fc.nat(),
  }),
  { minLength: 1, maxLength: 3 },
);

function apply(rows: RawRows, { table, how, where, member }: Change): void {
  const list = rows[table] as unknown as Record<string, unknown>[];
  if (list.length === 0) return;
  const at = where % list.length;
  const next = (at + 1) % list.length;
  if (how === "cover") return cover(rows, where % rows.entries.length, member);
  if (how === "drop") list.splice(at, 1);
  else if (how === "double") list.splice(at, 0, list[at]!);
  else if (how === "swap") [list[at], list[next]] = [list[next]!, list[at]!];
  else {
    const names = Object.keys(list[at]!);
    const name = names[member % names.length]!;
    list[at] = { ...list[at]!, [name]: changed(list[at]![name], where) };
  }
}

function cover(rows: RawRows, at: number, member: number): void {
  const { entry } = rows.entries[at]!;
  if (typeof entry !== "string" || !entry.startsWith("{") || entry.includes("\ufffd")) return; // changed before
  const other = rows.entries[(at + member) % rows.entries.length]!;
  const otherFields: Record<string, unknown> =
    typeof other.entry === "string" && isJson(other.entry) ? { ...fieldsOf(other) } : {};
  if (!isJson(entry)) return;
  editCovered(rows, at, (fields) => {
    const names = ["at", "cause", "data", "rev", "stream", "tv", "tx", "type"];
    const name = names[member % names.length]!;
    if (otherFields[name] === undefined) delete fields[name];
    else fields[name] = otherFields[name];
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** One bit of a text or of bytes, another number, or nothing at all. */
function changed(value: unknown, where: number): unknown {
  if (typeof value === "number") return where % 5 === 0 ? null : value + 1 - (where % 3);
  if (!(typeof value === "string" || value instanceof Uint8Array) || value.length === 0) return where % 2;
  const bytes = Buffer.from(value);
  bytes[where % bytes.length]! ^= 1 << (where % 8);
  return typeof value === "string" && !bytes.toString().includes("\ufffd") ? bytes.toString() : bytes;
}

test("a journal that was changed gives the same report, wherever it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(changes, fc.integer({ min: 1, max: 400 }), fc.boolean(), async (list, cut, few) => {
      const rows = journalRows();
      for (const change of list) apply(rows, change);
      const options = { now: start + 200_000, ...(few && { findingsMax: 2 }) };
      const whole = await verify(arrayRawReader(rows), options);
      const { report } = await verifyApart(rows, cut, options);
      expect(report).toEqual(whole);
    }),
  );
});

describe("what the first row of a range says of the time before is held against it", () => {
  /** A tx of three begins at 170; 175 stands alone. */
  const cuts = [170, 171, 172, 173, 175];
  type Edit = (rows: RawRows, at: number) => void;
  const fields =
    (change: Record<string, unknown>): Edit =>
    (rows, at) =>
      editCovered(rows, at, (entry) => Object.assign(entry, change));
  const both =
    (change: { readonly at?: number; readonly rev?: number }): Edit =>
    (rows, at) => {
      fields(change)(rows, at);
      setColumns(rows, at, change);
    };
  const edits: readonly (readonly [what: string, edit: Edit])[] = [
    ...[-2, -1, 0, 1].flatMap((first) =>
      [1, 2, 3, 4].map(
        (count) =>
          [
            `the tx [${first},${count}] from there`,
            (rows: RawRows, at: number) => fields({ tx: [at + first, count] })(rows, at),
          ] as const,
      ),
    ),
    ...[-1, 1, 400 * 86_400_000].map(
      (step) =>
        [
          `a time ${step} ms later`,
          (rows: RawRows, at: number) => both({ at: Number(rows.entries[at - 1]!.at) + step })(rows, at),
        ] as const,
    ),
    ...[-1, 1].map(
      (step) =>
        [
          `a revision ${step} further`,
          (rows: RawRows, at: number) => both({ rev: Number(rows.entries[at]!.rev) + step })(rows, at),
        ] as const,
    ),
    ["another link", fields({ prev: "ab".repeat(32) })],
    ["another stream in the text", fields({ stream: "log/other" })],
    ["another type in the text", fields({ type: "log.other" })],
    ["another stream before", (rows, at) => setColumns(rows, at, { before: at - 1 })],
    ["itself before", (rows, at) => setColumns(rows, at, { before: at })],
    ["a position below 0 before", (rows, at) => setColumns(rows, at, { before: -1 })],
    ["nothing before", (rows, at) => setColumns(rows, at, { before: null })],
    [
      "a stream that is there twice",
      (rows, at) => {
        rows.streams.push({ ...rows.streams.find(({ name }) => name === "log/long")!, id: 99 });
        setColumns(rows, at, { stream: 99 });
      },
    ],
    [
      "a cause that comes later",
      (rows, at) => editCovered(rows, at, (entry) => (entry["cause"] = rows.entries[at + 30]!.id)),
    ],
    ["a cause that is nowhere", fields({ cause: "ab".repeat(32) })],
    ["a cause in its own tx", (rows, at) => fields({ cause: rows.entries[at - 1]!.id })(rows, at)],
    [
      "a revision that is there twice, under two numbers of one stream",
      (rows, at) => {
        const { rev, before } = rows.entries[at]!;
        rows.streams.push({ ...rows.streams.find(({ name }) => name === "log/long")!, id: 99 });
        fields({ stream: "log/long", rev })(rows, at + 1);
        setColumns(rows, at + 1, { stream: 99, rev, before });
      },
    ],
  ];

  test.each(edits)("%s", async (_, edit) => {
    for (const cut of cuts) {
      for (const at of [cut, cut - 1]) {
        const rows = journalRows();
        edit(rows, at);
        const whole = await verify(arrayRawReader(rows));
        expect((await verifyApart(rows, cut)).report).toEqual(whole);
      }
    }
  });

  test("a content that is named in another way than before", async () => {
    const rows = journalRows();
    editCovered(rows, 230, (entry) => {
      const { text } = entry["data"] as { text: { bytes: number } };
      entry["data"] = { text, first: { ...(entry["data"] as { first: object }).first, bytes: text.bytes + 90 } };
    });
    const whole = await verify(arrayRawReader(rows));

    expect(whole.findings[0]).toMatchObject({ code: "E_CONTENT_REFERENCE", position: 230, stream: "note/3" });
    expect((await verifyApart(rows, 50)).report).toEqual(whole);
  });

  test("behind an entry that says another position", async () => {
    const rows = journalRows();
    editCovered(rows, 330, (entry) => Object.assign(entry, { seq: 329, tx: [329, 1] })); // the last one of its stream
    const whole = await verify(arrayRawReader(rows));

    expect(whole.findings[0]).toMatchObject({ code: "E_SEQ", position: 330 });
    expect((await verifyApart(rows, 50)).report).toEqual(whole);
  });

  test("when workers see other tables, which a later moment may show", async () => {
    const rows = journalRows();
    const later = journalRows();
    const number = rows.types.findIndex(({ name }) => name === "log.said");
    rows.types[number] = { ...rows.types[number]!, name: "log.other" };
    later.types.push({ id: 99, name: "log.later" });
    const whole = await verify(arrayRawReader(rows));

    expect(whole.verdict).toBe("TAMPERED");
    expect(await verify(arrayRawReader(rows), { workers: () => rangesOf(later, 64) })).toEqual(whole);
  });
});

describe("what stands in the way of the cheap step", () => {
  test("names with U+FFFD, which are looked at here, and everything else is not", async () => {
    const journal = new RawJournal(start);
    for (let turn = 1; turn < 2_000; turn++)
      journal.append(start + turn, [
        { stream: turn % 40 === 0 ? "log/\ufffd" : "log/plain", type: "log.said", data: { turn } },
      ]);
    const whole = await verify(arrayRawReader(journal.rows));
    const { report, readHere } = await verifyApart(journal.rows, 512);

    expect(whole.verdict).toBe("OK");
    expect(report).toEqual(whole);
    expect(readHere).toBeLessThan(200);
  });

  test("so many of them that the rest of a range is read here in pages", async () => {
    const journal = new RawJournal(start);
    for (let turn = 1; turn < 1_000; turn++)
      journal.append(start + turn, [{ stream: turn % 2 === 0 ? "log/\ufffd" : "log/plain", type: "log.said" }]);
    const whole = await verify(arrayRawReader(journal.rows));

    expect(whole.verdict).toBe("OK");
    expect((await verifyApart(journal.rows, 512)).report).toEqual(whole);
  });

  test("a time that falls, and entries ahead of the clock, are warned of without starting over", async () => {
    const rows = journalRows();
    editCovered(rows, 175, (fields) => (fields["at"] = start + 10));
    setColumns(rows, 175, { at: start + 10 });
    const options = { now: start + 100_000 };
    const { report, readHere } = await verifyApart(rows, 64, options);

    expect(report).toEqual(await verify(arrayRawReader(rows), options));
    expect(report.findings.map(({ code }) => code)).toEqual(["W_CLOCK", "W_CLOCK"]);
    expect(readHere).toBeLessThan(60);
  });
});

describe("workers", () => {
  const healthy = journalRows();
  const workersThat = (prove: RangeWorkers["prove"], onClose = (): void => {}): RangeWorkers => ({
    count: 2,
    rangeEntries: 64,
    gapEntriesMax: 0,
    prove,
    close: async () => onClose(),
  });

  test("that are gone, at once or later, change nothing but the time", async () => {
    const whole = await verify(arrayRawReader(healthy));
    for (const last of [0, 1, 3]) {
      const able = rangesOf(healthy, 64);
      let asked = 0;
      let closed = 0;
      const workers = workersThat(
        (range) => (asked++ < last ? able.prove(range) : Promise.reject(new Error("gone"))),
        () => closed++,
      );
      expect(await verify(arrayRawReader(healthy), { workers: () => workers })).toEqual(whole);
      expect(closed).toBe(1);
    }
  });

  test("that find a page damaged leave it to one thread to say so", async () => {
    const damaged = {
      onEntry: (seq: unknown) => {
        if (seq === 200) throw new LedgerError("STORE_DAMAGED", "page 7 is damaged");
      },
    };
    const whole = await verify(arrayRawReader(healthy, damaged));
    const report = await verify(arrayRawReader(healthy, damaged), { workers: () => rangesOf(healthy, 64, damaged) });

    expect(whole.findings[0]).toMatchObject({ code: "E_CORRUPT", position: 200 });
    expect(report).toEqual(whole);
  });

  test("say nothing of a range that they cannot read", async () => {
    const damaged = arrayRawReader(healthy, {
      onEntry: () => {
        throw new LedgerError("STORE_DAMAGED", "page 7 is damaged");
      },
    });
    const prover = await RangeProver.open(damaged);

    expect(await prover.prove({ from: 0, to: 64, now: Infinity, room: makeRoom(64) })).toEqual({ stretches: null });
  });

  test("that see rows which this thread does not find leave it to pages", async () => {
    const rows = wovenRows();
    const own = rows.entries.findIndex(({ stream }, at) => at > 100 && stream === ownStream);
    const reader = arrayRawReader(rows);
    const lost: RawReader = {
      ...reader,
      entries: (after, limit) => reader.entries(limit === 1 && after === own - 1 ? own + 1 : after, limit),
    };
    const whole = await verify(lost);

    expect(whole.verdict).toBe("OK");
    expect(await verify(lost, { workers: () => rangesOf(rows, 512) })).toEqual(whole);
  });

  test("are not waited for when the store itself says that something is wrong", async () => {
    const rows = journalRows();
    rows.problems.push({ code: "E_CORRUPT", where: "file", message: "page 7 is not used" });
    const whole = await verify(arrayRawReader(rows));
    const { report, readHere } = await verifyApart(rows, 64);

    expect(report).toEqual(whole);
    expect(readHere).toBeGreaterThan(340);
  });

  test("are asked for one range each at a time", async () => {
    const able = rangesOf(healthy, 8);
    let open = 0;
    let most = 0;
    const workers: RangeWorkers = {
      ...able,
      prove: async (range) => {
        most = Math.max(most, ++open);
        const proof = await able.prove(range);
        open--;
        return proof;
      },
    };
    expect((await verify(arrayRawReader(healthy), { workers: () => workers })).verdict).toBe("OK");
    expect(most).toBe(2);
  });

  test("that do not answer do not hold up who stops the verification, and are ended", async () => {
    const stop = new AbortController();
    let closed = false;
    const workers = workersThat(
      () => new Promise(() => setTimeout(() => stop.abort("enough"), 20)),
      () => (closed = true),
    );
    const verification = verify(arrayRawReader(healthy), { workers: () => workers, signal: stop.signal });

    await expect(verification).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
    expect(closed).toBe(true);
  });

  test("are told how many entries there are, and may decline", async () => {
    const asked: number[] = [];
    const report = await verify(arrayRawReader(healthy), {
      workers: (entries) => {
        asked.push(entries);
        return null;
      },
    });

    expect(asked).toEqual([340]);
    expect(report).toEqual(await verify(arrayRawReader(healthy)));
  });

  test("are not asked for a quick look, nor where a private copy is read", async () => {
    const workers = (): never => expect.unreachable();
    const copy = { ...arrayRawReader(healthy), copied: true };

    expect((await verify(arrayRawReader(healthy), { level: "quick", workers })).verdict).toBe("OK");
    expect((await verify(copy, { workers })).verdict).toBe("OK");
  });

  test("are started by a function, and by nothing else", async () => {
    const options = { workers: 2 } as unknown as VerifyOptions;

    await expect(verify(arrayRawReader(healthy), options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

test("rows of one position on both sides of an edge are no range", async () => {
  for (const edge of [63, 64]) {
    const rows = journalRows();
    rows.entries.splice(edge, 0, rows.entries[edge]!);
    const whole = await verify(arrayRawReader(rows));

    expect(whole.verdict).toBe("TAMPERED");
    expect((await verifyApart(rows, 64)).report).toEqual(whole);
  }
});

describe("progress", () => {
  async function progressOf(rows: RawRows, workers: RangeWorkers): Promise<VerifyProgress[]> {
    const seen: VerifyProgress[] = [];
    await verify(arrayRawReader(rows), { workers: () => workers, onProgress: (progress) => seen.push(progress) });
    return seen.filter(({ phase }) => phase === "entries");
  }

  test("is the sum of the ranges, and ends with all entries", async () => {
    const seen = await progressOf(journalRows(), rangesOf(journalRows(), 32));

    expect(seen.length).toBeGreaterThan(9);
    expect(seen.map(({ done }) => done)).toEqual(seen.map(({ done }) => done).sort((one, two) => one - two));
    expect(seen.at(-1)).toEqual({ phase: "entries", done: 340, total: 340 });
  });

  test("never goes back, even when it all starts over", async () => {
    const rows = wovenRows();
    rows.entries.splice(900, 1);
    const seen = await progressOf(rows, rangesOf(rows, 32));

    expect(seen.map(({ done }) => done)).toEqual(
      [...new Set(seen.map(({ done }) => done))].sort((one, two) => one - two),
    );
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.at(-1)?.done).toBe(rows.entries.length);
  });
});
