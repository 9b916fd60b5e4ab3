import { existsSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { verifyConsistency, verifyInclusion, verifyNote } from "../../src/forensic/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { defineEvents, openLedger } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { signNote } from "../../src/journal/note.js";
import { acceptsConsistency, acceptsInclusion, openNote, rootOf } from "../journal/second-implementation.js";
import { damage } from "../cli/damage.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import {
  describeStores,
  directory,
  freshPlace,
  ledgerPath,
  open,
  openStore,
  runSeed,
  sharedStoreNames,
} from "./fixture.js";

const origin = "example.com/orders";
const [key1, key2, key3] = [1, 2, 3].map((seed) => formatSignerKey(origin, Buffer.alloc(32, seed))) as [
  string,
  string,
  string,
];
const verifierOf = (signer: string): string => parseSignerKey(signer, "key").verifier.text;
const [verifier1, verifier2, verifier3] = [verifierOf(key1), verifierOf(key2), verifierOf(key3)];

/** Appends events until the journal has so many entries. */
async function grow(ledger: Ledger, size: number): Promise<void> {
  const { size: now } = await ledger.status();
  if (size > now)
    await ledger.append(
      "order/1",
      Array.from({ length: size - now }, (_, index) => ({ type: "order.moved", data: { number: now + index } })),
    );
}

async function leavesOf(ledger: Ledger): Promise<Buffer[]> {
  const leaves: Buffer[] = [];
  for await (const { id } of ledger.read()) leaves.push(Buffer.from(id, "hex"));
  return leaves;
}

describeStores("a checkpoint", (openOne, openStoreOf) => {
  test("has the root that anybody computes from the ids, and the signature of the key", async () => {
    const ledger = await openOne({ key: key1 });
    for (const size of [1, 2, 3, 4, 5, 6, 7, 8, 255, 256, 257, 512, 513]) {
      await grow(ledger, size);
      const { note } = await ledger.checkpoint();
      expect(openNote(note, verifier1)).toEqual({ origin, size, root: rootOf(await leavesOf(ledger)) });
    }
  });

  test("of the same head is the same note, from whoever has the key", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, { key: key1 });
    await grow(ledger, 5);
    const first = await ledger.checkpoint();

    expect(await ledger.checkpoint()).toEqual(first);
    expect(await ledger.checkpoint({ size: 5 })).toEqual(first);
    expect(await (await open(store, { key: key1 })).checkpoint()).toEqual(first);
    expect(await ledger.checkpoints()).toEqual([first]);
    await grow(ledger, 6);
    expect((await ledger.checkpoint()).note).not.toBe(first.note);
  });

  test("is the three lines alone where the journal has no key", async () => {
    const ledger = await openOne({ origin });
    await grow(ledger, 3);
    const { note, ...said } = await ledger.checkpoint();

    const root = rootOf(await leavesOf(ledger));
    expect(note).toBe(`${origin}\n3\n${root.toString("base64")}\n`);
    expect({ ...said, root: Buffer.from(said.root) }).toEqual({ origin, size: 3, root, signed: false });
  });

  test("is kept, the largest first", async () => {
    const ledger = await openOne({ key: key1 });
    for (const size of [2, 9, 100, 10]) {
      await grow(ledger, Math.max(size, 10));
      await ledger.checkpoint({ size });
    }

    const sizes = async (options?: Parameters<Ledger["checkpoints"]>[0]): Promise<number[]> =>
      (await ledger.checkpoints(options)).map(({ size }) => size);
    expect(await sizes()).toEqual([100, 10, 9, 2]);
    expect(await sizes({ limit: 2 })).toEqual([100, 10]);
    expect(await sizes({ sizeMax: 10 })).toEqual([10, 9, 2]);
    expect(await sizes({ sizeMax: 1 })).toEqual([]);
  });

  test("beyond the journal, or of nothing, is refused", async () => {
    const ledger = await openOne({ key: key1 });
    for (const size of [0, 2, -1, 1.5, Number.NaN])
      await expect(ledger.checkpoint({ size })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await ledger.checkpoints()).toEqual([]);
  });

  test("that contradicts one that was kept is not signed", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, { key: key1 });
    await grow(ledger, 4);
    const { note } = await ledger.checkpoint({ size: 3 });
    const put = (size: number, other: string): Promise<void> =>
      writeOperational(store, 5_000, (transaction) => transaction.putCheckpoint({ size, note: other }));

    const damaged = { code: "STORE_DAMAGED", details: { size: 3 } };
    for (const other of [
      note.replace("\n3\n", "\n2\n"),
      note.replace("orders\n", "other\n"),
      "nonsense",
      `${origin}\n3\n${Buffer.alloc(32).toString("base64")}\n`,
      note.slice(0, note.indexOf("\n\n") + 1),
    ]) {
      await put(3, other);
      await expect(ledger.checkpoint()).rejects.toMatchObject(damaged);
      await expect(ledger.checkpoint({ size: 3 })).rejects.toMatchObject(damaged);
      await expect(ledger.prove(1, { size: 3 })).rejects.toMatchObject(damaged);
    }
    await put(3, note);
    expect((await ledger.checkpoint()).size).toBe(4);
  });
});

test("a checkpoint without signatures that contradicts one that was kept is not made either", async () => {
  const store = await openStore("memory");
  const ledger = await open(store, { origin });
  await grow(ledger, 4);
  const { note } = await ledger.checkpoint({ size: 3 });
  const put = (other: string): Promise<void> =>
    writeOperational(store, 5_000, (transaction) => transaction.putCheckpoint({ size: 3, note: other }));

  for (const other of [
    note.replace("\n3\n", "\n2\n"),
    note.replace("orders", "other"),
    `${origin}\n3\n${Buffer.alloc(32).toString("base64")}\n`,
  ]) {
    await put(other);
    await expect(ledger.checkpoint()).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { size: 3 } });
  }
  await put(note);
  expect((await ledger.checkpoint()).size).toBe(4);
});

test("a journal that is shorter than a checkpoint that was kept is signed no more", async () => {
  const path = ledgerPath();
  const whole = await openLedger(path, { key: key1 });
  await grow(whole, 2);
  await whole.append("order/2", [{ type: "order.moved" }]);
  await whole.checkpoint();
  await whole.close();
  damage(path, "DELETE FROM entries WHERE seq = 2");
  damage(path, "DELETE FROM streams WHERE last_seq = 2");

  const cut = await open(path, { key: key1 });
  const rolledBack = { code: "STORE_ROLLED_BACK", details: { reason: "entries", expected: 3, found: 2 } };
  await expect(cut.checkpoint()).rejects.toMatchObject(rolledBack);
  await expect(cut.checkpoint({ size: 1 })).rejects.toMatchObject(rolledBack);
  await expect(cut.prove(1)).rejects.toMatchObject(rolledBack);
  await cut.append("order/3", [{ type: "order.moved" }]);
  await expect(cut.checkpoint()).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { size: 3 } });
});

test.each(sharedStoreNames)("a ledger that is closed waits for its checkpoint, on %s", async (name) => {
  const path = freshPlace(name);
  const ledger = await openLedger(path, { key: key1 });
  const [made] = await Promise.all([ledger.checkpoint(), ledger.close()]);

  expect(await (await open(path)).checkpoints()).toEqual([made]);
  await expect(ledger.checkpoint()).rejects.toMatchObject({ code: "CLOSED" });
});

describe("a key", () => {
  test("names itself in a new journal, whose origin is its name", async () => {
    const ledger = await open("memory:", { key: key1 });

    expect(ledger.origin).toBe(origin);
    const [first] = await ledger.read({ limit: 1 }).toArray();
    expect(first?.data).toMatchObject({ origin, key: verifier1 });
  });

  test("of another name is refused, and nothing is made", async () => {
    const path = ledgerPath();
    await expect(openLedger(path, { key: key1, origin: "example.com/other" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(existsSync(path)).toBe(false);

    await (await openLedger(path, { origin: "example.com/other" })).close();
    await expect(openLedger(path, { key: key1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("that is not the journal's opens it and signs nothing", async () => {
    const store = await openStore("memory");
    await open(store, { key: key1 });
    const ledger = await open(store, { key: key2 });

    await grow(ledger, 3);
    await expect(ledger.checkpoint()).rejects.toMatchObject({
      code: "KEY_REQUIRED",
      details: { size: 3, required: [verifier1], given: [verifier2] },
    });
    await expect((await open(store)).checkpoint()).rejects.toMatchObject({
      code: "KEY_REQUIRED",
      details: { required: [verifier1], given: [] },
    });
    expect((await ledger.verify()).verdict).toBe("OK");
  });

  test("that the journal does not name signs nothing until it does", async () => {
    const ledger = await open(await openStoreWith(), { key: key1 });
    await expect(ledger.checkpoint()).rejects.toMatchObject({ code: "KEY_REQUIRED" });

    const changed = await ledger.changeKey(key1);

    expect(verifyNote(changed.note, [verifier1])).toHaveLength(1);
    expect((await ledger.checkpoint({ size: 1 })).signed).toBe(false);
  });

  async function openStoreWith(): Promise<Awaited<ReturnType<typeof openStore>>> {
    const store = await openStore("memory");
    await open(store, { origin });
    return store;
  }

  test("stands in no status, no event and no diagnostic", async () => {
    const said: unknown[] = [];
    const ledger = await open(ledgerPath(), { key: key1, onEvent: (event) => said.push(event) });
    await grow(ledger, 3);
    said.push(await ledger.checkpoint(), await ledger.status(), await ledger.read().toArray(), ledger);
    await ledger.changeKey(key2);

    const shown = JSON.stringify(said) + inspect(said, { depth: 30, showHidden: true });
    expect(shown).not.toContain("PRIVATE");
    for (const key of [key1, key2]) expect(shown).not.toContain(key.split("+").at(-1));
  });
});

describe("a change of keys", () => {
  test("is an event, and a checkpoint that both keys sign", async () => {
    const ledger = await open("memory:", { key: key1 });
    await grow(ledger, 3);
    const { size, note } = await ledger.changeKey(key2);

    expect(size).toBe(4);
    expect((await ledger.read({ from: 3 }).toArray())[0]).toMatchObject({
      type: "journal.keyChanged",
      stream: "journal/main",
      data: { key: verifier2 },
    });
    expect(verifyNote(note, [verifier1, verifier2])).toHaveLength(2);
    expect((await ledger.verify()).verdict).toBe("OK");
    await grow(ledger, 6);
    const later = await ledger.checkpoint();
    expect(verifyNote(later.note, [verifier2])).toHaveLength(1);
    expect(await ledger.checkpoint()).toEqual(later);
    expect(() => verifyNote(later.note, [verifier1])).toThrow(expect.objectContaining({ code: "SIGNER_UNKNOWN" }));
    expect(verifyNote((await ledger.checkpoint({ size: 3 })).note, [verifier1])).toHaveLength(1);
  });

  test("is refused without the key until now, and nothing is appended", async () => {
    const store = await openStore("memory");
    await open(store, { key: key1 });
    for (const key of [undefined, key3]) {
      const ledger = await open(store, key === undefined ? {} : { key });
      await expect(ledger.changeKey(key2)).rejects.toMatchObject({ code: "KEY_REQUIRED" });
      expect((await ledger.status()).size).toBe(1);
    }
  });

  test("to the key that signs already is the checkpoint alone", async () => {
    const ledger = await open("memory:", { key: key1 });

    expect(await ledger.changeKey(key1)).toEqual(await ledger.checkpoint());
    expect((await ledger.status()).size).toBe(1);
  });

  test("can be followed by another, and by one back", async () => {
    const ledger = await open("memory:", { key: key1 });
    const notes = [await ledger.changeKey(key2), await ledger.changeKey(key3), await ledger.changeKey(key1)];

    for (const [at, keys] of [
      [verifier1, verifier2],
      [verifier2, verifier3],
      [verifier3, verifier1],
    ].entries())
      expect(verifyNote(notes[at]!.note, keys)).toHaveLength(2);
  });

  /** A journal of four entries whose change to the second key lacks its checkpoint. */
  async function interrupted(given?: Store): Promise<Store> {
    const store = given ?? (await openStore("memory"));
    const ledger = await open(store, { key: key1 });
    await grow(ledger, 3);
    const begin = store.begin.bind(store);
    let begun = 0;
    store.begin = () => (++begun === 2 ? Promise.reject(new Error("gone")) : begin());
    await expect(ledger.changeKey(key2)).rejects.toThrow("gone");
    store.begin = begin;
    expect((await ledger.status()).size).toBe(4);
    return store;
  }

  test("is taken up where it was interrupted, and nobody signs in between", async () => {
    const store = await interrupted();

    for (const key of [key1, key2])
      await expect((await open(store, { key })).checkpoint()).rejects.toMatchObject({
        code: "KEY_REQUIRED",
        details: { required: [verifier2, verifier1] },
      });
    await expect((await open(store, { key: key2 })).changeKey(key3)).rejects.toMatchObject({ code: "KEY_REQUIRED" });
    const again = await open(store, { key: key1 });
    await grow(again, 6);
    const { size, note } = await again.changeKey(key2);
    expect([size, (await again.status()).size]).toEqual([6, 6]);
    expect(verifyNote(note, [verifier1, verifier2])).toHaveLength(2);
    expect((await (await open(store, { key: key2 })).checkpoint()).note).toBe(note);
  });

  test("is not ended by a checkpoint of the new key alone", async () => {
    const store = await interrupted();
    const ledger = await open(store, { key: key1 });
    const both = await ledger.changeKey(key2);
    const text = both.note.slice(0, both.note.indexOf("\n\n") + 1);
    const note = signNote(text, [parseSignerKey(key2, "key")]);
    await writeOperational(store, 5_000, (transaction) => transaction.putCheckpoint({ size: 4, note }));

    await expect((await open(store, { key: key2 })).checkpoint()).rejects.toMatchObject({ code: "KEY_REQUIRED" });
    expect(await ledger.checkpoint()).toEqual(both);
    expect(await ledger.checkpoints()).toEqual([both]);
  });

  test("is read once, however many ask at the same time", async () => {
    // Slow and never in trouble: the change must break off where it is meant to.
    const store = asyncMemoryStore(runSeed, { busyRate: 0, lostReplyRate: 0 });
    const ledger = await open(await interrupted(store), { key: key2 });
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => ledger.checkpoint()));

    for (const each of asked) expect(each).toMatchObject({ status: "rejected", reason: { code: "KEY_REQUIRED" } });
  });

  test.each(sharedStoreNames)(
    "is decided again when the journal said something else of itself in between, on %s",
    async (name) => {
      const areas = ["invoice", "parcel", "refund"];
      const events = areas.map((area) => defineEvents(area, { open: true }, { [`${area}.noted`]: {} }));
      const store = await openStore(name);
      const ledger = await open(store, { key: key1, events });
      // What an area is, is said on the stream that the change stands on.
      const snapshot = store.snapshot.bind(store);
      store.snapshot = async () => {
        const taken = await snapshot();
        const release = taken.release.bind(taken);
        const [area] = areas.splice(0, 1);
        taken.release = async () => {
          await release();
          if (area !== undefined) await ledger.append(`${area}/1`, [{ type: `${area}.noted` }]);
        };
        return taken;
      };
      const { note, size } = await ledger.changeKey(key2);

      expect(size).toBe(1 + 3 * 2 + 1);
      expect(verifyNote(note, [verifier1, verifier2])).toHaveLength(2);
      expect(await ledger.read({ types: ["journal.keyChanged"] }).toArray()).toHaveLength(1);
      expect(await ledger.verify({ keys: [verifier1, verifier2] })).toMatchObject({ verdict: "OK", findings: [] });
    },
  );

  test.each(sharedStoreNames)("needs a ledger that is open for writing, on %s", async (name) => {
    const path = freshPlace(name);
    await (await openLedger(path, { key: key1 })).close();
    const ledger = await open(path, { key: key1, readOnly: true });

    await expect(ledger.changeKey(key2)).rejects.toMatchObject({ code: "READ_ONLY" });
    expect(verifyNote((await ledger.checkpoint()).note, [verifier1])).toHaveLength(1);
    expect(await ledger.checkpoints()).toEqual([]);
  });
});

describe.each(["memory", "sqlite", "postgres"] as const)("the stored tree, on %s", (store) => {
  test("has the root of every size up to 600, however the entries were appended", async () => {
    const ledger = await open(await openStore(store), { origin });
    for (const size of [1, 2, 100, 255, 256, 257, 511, 512, 513, 600]) await grow(ledger, size);
    const leaves = await leavesOf(ledger);

    for (let size = 1; size <= 600; size++) {
      const { root, proof } = await ledger.prove(size - 1, { size });
      const expected = rootOf(leaves.slice(0, size));
      expect(Buffer.from(root)).toEqual(expected);
      expect(acceptsInclusion(leaves[size - 1]!, size - 1, size, proof.map(Buffer.from), expected)).toBe(true);
    }
  });

  const whole = process.env["RUNLEDGER_LONG"] !== undefined;
  // By default on one store: filling it takes seconds.
  if (whole || store === "sqlite") {
    test("has the roots around 65,536 entries, where the second level begins", async () => {
      const ledger = await open(await openStore(store), { origin });
      for (let size = 9_000; size < 66_000; size += 9_000) await grow(ledger, size);
      await grow(ledger, 66_000);
      const leaves = await leavesOf(ledger);

      const sizes = [4_096, 65_535, 65_536, 65_537];
      for (const size of whole ? [...sizes, 4_095, 4_097, 32_768, 65_280, 65_791, 65_792, 66_000] : sizes) {
        const root = rootOf(leaves.slice(0, size));
        expect(Buffer.from((await ledger.checkpoint({ size })).root)).toEqual(root);
        for (const index of [0, 255, 256, 4_000, size - 1]) {
          const { proof } = await ledger.prove(index, { size });
          expect(acceptsInclusion(leaves[index]!, index, size, proof.map(Buffer.from), root)).toBe(true);
        }
        const { proof } = await ledger.consistency(4_095, size);
        const old = rootOf(leaves.slice(0, 4_095));
        expect(acceptsConsistency(4_095, old, size, root, proof.map(Buffer.from))).toBe(true);
      }
    });
  }
});

describeStores("a proof", (openOne) => {
  test("is accepted for every event at every size, and by the forensic functions too", async () => {
    const ledger = await openOne({ key: key1 });
    await grow(ledger, 18);
    const leaves = await leavesOf(ledger);
    for (let size = 1; size <= 18; size++) {
      const root = rootOf(leaves.slice(0, size));
      for (let index = 0; index < size; index++) {
        const proof = await ledger.prove(index, { size });
        verifyInclusion(proof);
        expect(Buffer.from(proof.leafHash)).toEqual(leaves[index]);
        expect(acceptsInclusion(leaves[index]!, index, size, proof.proof.map(Buffer.from), root)).toBe(true);
      }
      for (let from = 1; from <= size; from++) {
        const proof = await ledger.consistency(from, size);
        verifyConsistency(proof);
        const hashes = proof.proof.map(Buffer.from);
        expect(acceptsConsistency(from, rootOf(leaves.slice(0, from)), size, root, hashes)).toBe(true);
      }
    }
  });

  test("leads to the largest checkpoint that was kept, when that covers it", async () => {
    const ledger = await openOne({ key: key1 });
    await grow(ledger, 9);
    expect((await ledger.prove(3)).checkpoint).toBe((await ledger.checkpoint()).note.split("\n\n")[0] + "\n");
    const { note } = (await ledger.checkpoints())[0]!;
    await grow(ledger, 12);

    expect(await ledger.prove(8)).toMatchObject({ size: 9, checkpoint: note });
    expect((await ledger.prove(9)).size).toBe(12);
    expect((await ledger.prove(9)).checkpoint).not.toContain("\n\n");
    expect(await ledger.consistency(8)).toMatchObject({ size2: 9, checkpoint: note });
    expect(await ledger.consistency(9, 9)).toMatchObject({ size2: 9, checkpoint: note, proof: [] });
    expect((await ledger.consistency(9)).size2).toBe(12);
    expect((await ledger.consistency(12)).proof).toEqual([]);
    expect(await ledger.prove(3, { size: 9 })).toMatchObject({ size: 9, checkpoint: note });
    await ledger.checkpoint();
    expect(await ledger.prove(3, { size: 9 })).toMatchObject({ size: 9, checkpoint: note });
    expect((await ledger.prove(3, { size: 12 })).text).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex 3\n/);
  });

  test("leads to a checkpoint under a key that was changed to", async () => {
    const store = await openStore("memory");
    const ledger = await open(store, { key: key1 });
    await ledger.changeKey(key2);
    await grow(ledger, 5);
    const { note } = await ledger.checkpoint();

    expect((await (await open(store)).prove(0)).checkpoint).toBe(note);
    expect((await (await open(store)).consistency(1)).checkpoint).toBe(note);
  });

  test("of what is not there is refused", async () => {
    const ledger = await openOne({ key: key1 });
    await grow(ledger, 5);

    await expect(ledger.prove(5)).rejects.toMatchObject({ code: "NOT_FOUND" });
    for (const refused of [
      () => ledger.prove(-1),
      () => ledger.prove(1.5),
      () => ledger.prove(3, { size: 3 }),
      () => ledger.prove(3, { size: 6 }),
      () => ledger.consistency(0),
      () => ledger.consistency(6),
      () => ledger.consistency(3, 2),
      () => ledger.consistency(3, 6),
    ])
      await expect(refused()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe.each(sharedStoreNames)("a ledger that is expected to be at least a checkpoint, on %s", (name) => {
  async function ledgerOf(size: number, path: string = freshPlace(name)): Promise<{ path: string; note: string }> {
    const ledger = await openLedger(path, { key: key1, testing: { randomBytes: (count) => new Uint8Array(count) } });
    await grow(ledger, size);
    const { note } = await ledger.checkpoint();
    await ledger.close();
    return { path, note };
  }

  test("opens when it is, or is more", async () => {
    const { path, note } = await ledgerOf(4);
    for (const size of [4, 9]) {
      await ledgerOf(size, path);
      for (const readOnly of [false, true]) await (await openLedger(path, { expectAtLeast: note, readOnly })).close();
    }
    const text = note.slice(0, note.indexOf("\n\n") + 1);
    await (await openLedger(path, { expectAtLeast: text })).close();
  });

  test("is refused when it is shorter, another one, or none, and nothing is made", async () => {
    const [long, short] = [await ledgerOf(9), await ledgerOf(4)];
    const { path } = await ledgerOf(12);
    const other = freshPlace(name);
    await (await openLedger(other, { origin: "example.com/other" })).close();

    await expect(openLedger(short.path, { expectAtLeast: long.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "entries", expected: 9, found: 4 },
    });
    await expect(openLedger(path, { expectAtLeast: long.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "root", size: 9 },
    });
    await expect(openLedger(other, { expectAtLeast: long.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "origin", expected: origin, found: "example.com/other" },
    });
    await expect(openLedger("memory:", { expectAtLeast: long.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "entries", expected: 9, found: 0 },
    });
    const none = join(directory(), "none.ledger");
    await expect(openLedger(none, { expectAtLeast: long.note })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(existsSync(none)).toBe(false);
  });

  test.each([undefined, null, 7, "", "nonsense", `${origin}\n3\n`, `${origin}\n03\n${"A".repeat(43)}=\n`])(
    "is told that %j is no checkpoint",
    async (given) => {
      const opening = openLedger("memory:", { expectAtLeast: given as string });
      if (given === undefined) await (await opening).close();
      else
        await expect(opening).rejects.toMatchObject({
          code: expect.stringMatching(/^(INVALID_ARGUMENT|NOTE_INVALID)$/) as string,
        });
    },
  );
});
