import { spawnSync } from "node:child_process";
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  merkleRoot,
  parseCheckpoint,
  verifyConsistency,
  verifyInclusion,
  verifyNote,
} from "../../src/forensic/index.js";
import { defineEvents, openLedger } from "../../src/index.js";
import { formatCheckpoint } from "../../src/journal/checkpoint.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { signNote } from "../../src/journal/note.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { directory } from "../engine/fixture.js";
import {
  acceptsConsistency,
  acceptsInclusion,
  checkJournal,
  digestOf,
  idOf,
  openNote,
  readEntry,
  rootOf,
} from "./second-implementation.js";
import type { Line } from "./second-implementation.js";

// Everything below is read out of the page, so that the page cannot go on saying what is no longer true.
const page = readFileSync(new URL("../../src/FORMAT.md", import.meta.url), "utf8");
const example = page.slice(page.indexOf("## 15. Worked example"));

const entries = [...example.matchAll(/^Entry (\d+), (\d+) bytes, id `([0-9a-f]{64})`:\n\n```json\n(.*)\n```$/gm)].map(
  (found) => ({
    seq: Number(found[1]),
    bytes: Number(found[2]),
    id: found[3] ?? "",
    entry: found[4] ?? "",
  }),
);
const leaves = entries.map(({ entry }) => Buffer.from(idOf(Buffer.from(entry)), "hex"));
const roots = [...example.matchAll(/^\| (\d+) \| `([0-9a-f]{64})` \|$/gm)].map((found) => ({
  size: Number(found[1]),
  root: found[2] ?? "",
}));
const [, media = "", salt = "", bytes = "", digest = ""] =
  /^Content 1, media type `([^`]*)`, salt `([^`]*)`, bytes `([^`]*)` .*, digest `([0-9a-f]{64})`\.$/m.exec(example) ??
  [];

function hashes(start: string): Buffer[] {
  const line = example.split("\n").find((each) => each.startsWith(start)) ?? "";
  return [...line.matchAll(/`([0-9a-f]{64})`/g)].map((found) => Buffer.from(found[1] ?? "", "hex"));
}

describe("the worked example of FORMAT.md", () => {
  test("has four entries of the length and the id that it says", () => {
    expect(entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
    for (const { entry, bytes: length, id, seq } of entries) {
      expect(Buffer.byteLength(entry)).toBe(length);
      expect(idOf(Buffer.from(entry))).toBe(id);
      expect(readEntry(Buffer.from(entry))).toMatchObject({ seq });
    }
  });

  test("has a content whose frame hashes to its digest", () => {
    expect(Buffer.from(bytes, "base64").toString()).toBe("ring twice\n");
    expect(digestOf(media, Buffer.from(salt, "base64"), Buffer.from(bytes, "base64"))).toBe(digest);
    expect(entries[2]?.entry).toContain(`{"$content":"${digest}","bytes":11,"n":1}`);
  });

  test("has the roots of every size", () => {
    expect(roots.map(({ size }) => size)).toEqual([0, 1, 2, 3, 4]);
    for (const { size, root } of roots) expect(rootOf(leaves.slice(0, size)).toString("hex")).toBe(root);
  });

  test("is a valid journal", () => {
    const lines: Line[] = [...entries.map(({ id, entry }) => ({ id, entry })), { n: 1, media, salt, bytes }, ...roots];

    expect(checkJournal(lines)).toEqual([]);
  });

  test("has proofs that are accepted, and not for anything else", () => {
    const inclusion = hashes("Inclusion of entry 2");
    const root = rootOf(leaves);
    expect(acceptsInclusion(leaves[2] as Buffer, 2, 4, inclusion, root)).toBe(true);
    expect(acceptsInclusion(leaves[2] as Buffer, 3, 4, inclusion, root)).toBe(false);
    expect(acceptsInclusion(leaves[3] as Buffer, 2, 4, inclusion, root)).toBe(false);
    expect(acceptsInclusion(leaves[2] as Buffer, 2, 4, inclusion.slice(1), root)).toBe(false);

    const consistency = hashes("Consistency of 3");
    expect(acceptsConsistency(3, rootOf(leaves.slice(0, 3)), 4, root, consistency)).toBe(true);
    expect(acceptsConsistency(2, rootOf(leaves.slice(0, 2)), 4, root, consistency)).toBe(false);
    expect(acceptsConsistency(3, rootOf(leaves.slice(0, 3)), 4, root, consistency.slice(0, 2))).toBe(false);
  });

  test("has a checkpoint that its key signed, over the root of four entries", () => {
    const [, note = ""] = /```text\n([\s\S]*?)```/.exec(example) ?? [];
    const [, verifierKey = ""] = /verifier key `([^`]*)`/.exec(example) ?? [];

    expect(openNote(note, verifierKey)).toEqual({ origin: "example.com/orders", size: 4, root: rootOf(leaves) });
    expect(openNote(note.replace("\n4\n", "\n3\n"), verifierKey)).toBeNull();

    const seed = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
    const key = createPrivateKey({
      key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
      format: "der",
      type: "pkcs8",
    });
    const body = note.slice(0, note.indexOf("\n\n") + 1);
    expect(note).toContain(
      Buffer.concat([Buffer.from("9baf461a", "hex"), sign(null, Buffer.from(body), key)]).toString("base64"),
    );
  });
});

describe("the product and the worked example", () => {
  const [, note = ""] = /```text\n([\s\S]*?)```/.exec(example) ?? [];
  const [, verifierKey = ""] = /verifier key `([^`]*)`/.exec(example) ?? [];

  test("agree on roots, proofs and checkpoint", () => {
    for (const { size, root } of roots) expect(merkleRoot(leaves.slice(0, size)).toString("hex")).toBe(root);
    const [root1, root] = [rootOf(leaves.slice(0, 3)), rootOf(leaves)];
    const [leafHash, inclusion] = [leaves[2] as Buffer, hashes("Inclusion of entry 2")];
    verifyInclusion({ leafHash, index: 2, size: 4, proof: inclusion, root });
    verifyConsistency({ size1: 3, root1, size2: 4, root2: root, proof: hashes("Consistency of 3") });

    expect(verifyNote(note, [verifierKey])).toMatchObject([{ name: "example.com/orders", id: "9baf461a" }]);
    expect(parseCheckpoint(note)).toEqual({ origin: "example.com/orders", size: 4, root });
  });

  test("agree on every byte that is written", async () => {
    const counting = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, index) => index);
    let time = 1_767_225_600_000;
    const order = defineEvents(
      "order",
      { open: true },
      { "order.placed": { content: ["/note"] }, "order.shipped": {} },
    );
    const store = createMemoryStore();
    const ledger = await openLedger(store, {
      key: formatSignerKey("example.com/orders", counting(32)),
      clock: { now: () => time, monotonic: () => time },
      events: [order],
      testing: { randomBytes: counting },
    });
    time = 1_767_225_601_500;
    const placed = await ledger.append(
      "order/17",
      [{ type: "order.placed", data: { items: ["tea", "crème"], note: "ring twice\n", total: 12.5 } }],
      { actor: "alice", meta: { tenant: "north" } },
    );
    time = 1_767_225_601_750;
    const cause = { position: placed.position, id: placed.ids[0] ?? "" };
    await ledger.append("order/17", [{ type: "order.shipped", data: { parcels: 1 } }], { cause, correlation: "17" });

    const reader = await store.raw();
    expect((await reader.entries(null, 9, true)).map(({ entry }) => String(entry))).toEqual(
      entries.map(({ entry }) => entry),
    );
    expect((await ledger.prove(2, { size: 4 })).proof).toEqual(hashes("Inclusion of entry 2"));
    expect((await ledger.consistency(3, 4)).proof).toEqual(hashes("Consistency of 3"));
    expect((await ledger.checkpoint()).note).toBe(note);
  });

  test("agree on every byte of what is signed", () => {
    const key = formatSignerKey("example.com/orders", Buffer.from(Array.from({ length: 32 }, (_, index) => index)));
    const text = formatCheckpoint({ origin: "example.com/orders", size: 4, root: rootOf(leaves) });

    expect(parseSignerKey(key, "key").verifier.text).toBe(verifierKey);
    expect(signNote(text, [parseSignerKey(key, "key")])).toBe(note);
  });
});

describe("the order of the members", () => {
  test("is the one that the page lists", () => {
    const [, listed = ""] = /have this order: `([a-z ]+)`/.exec(page) ?? [];
    const required = entries.map(({ entry }) => Object.keys(JSON.parse(entry) as object));

    const order = listed.split(" ");
    expect(order).toEqual([...order].sort());
    expect(order).toHaveLength(16);
    for (const names of required) expect(names).toEqual(order.filter((name) => names.includes(name)));
  });
});

test("openssl alone checks the example's signature by the commands of section 9", ({ skip }) => {
  for (const program of ["openssl version", "xxd -v", "bash --version"])
    if (spawnSync(program, { shell: true }).status !== 0) return skip(`${program} does not run`);
  const [, commands = ""] = /```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const [, note = ""] = /```text\n([\s\S]*?)```/.exec(example) ?? [];
  const [, vkey = ""] = /verifier key `(example[^`]+)`/.exec(example) ?? [];

  const check = (signed: string): string => {
    const cwd = directory();
    writeFileSync(join(cwd, "audit.vkey"), `${vkey}\n`);
    writeFileSync(join(cwd, "note"), signed);
    return spawnSync("bash", ["-euc", commands], { cwd, encoding: "utf8" }).stdout;
  };

  expect(check(note)).toContain("Signature Verified Successfully");
  expect(check(note.replace("\n4\n", "\n5\n"))).toContain("Signature Verification Failure");
});
