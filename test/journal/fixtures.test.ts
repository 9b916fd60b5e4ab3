import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import { contentDigest, contentReferences } from "../../src/journal/content.js";
import { encodeEntry, entryId, entryTemplate, parseEntry } from "../../src/journal/entry.js";
import { parseReceipt } from "../../src/journal/events/receipt.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { lineReader, readLines } from "./line-reader.js";
import { canonical, checkJournal, idOf, readEntry } from "./second-implementation.js";
import type { Line } from "./second-implementation.js";

const folder = new URL("../../fixtures/format/", import.meta.url);
const names = readdirSync(folder).sort();

/** The fixtures there are, each with the hash of its bytes. A line is added with a fixture and never changed. */
const evidence: Readonly<Record<string, string>> = {
  "contents.jsonl": "628945d91d37b1e4a3d26314808e01e66e13eb7c7f0b352d73413f85b480ba64",
  "erased.jsonl": "70592da273253a496a94d9370fee2306270efebb34caa2926adcafd3fa03bfdf",
  "every-member.jsonl": "b1c7815293d76497d9d129a4a50fb80ad16168626fb587d8c7ae5085ba33d714",
  "numbers-and-strings.jsonl": "bf8384620bf8c16e581bb0db3b00905d4d2bedc0b87738a2d62c0f19df8379c2",
  "opened.jsonl": "04bf4bab393e7497fae19ee7c7821e835458b2a135a1fea6eb49d8e1f4d58f2b",
  "receipts.jsonl": "af762282cc89a0b709bcc8adb4fb0c02e6424d8b52826f1e217952b7658fc7b8",
  "several-streams.jsonl": "3654a53bca895885a3f0b07865babeb0c0e3d07f56dd09bbc0fe0e49a72f9fe9",
  "three-hundred.jsonl": "9b8da63a7a1246aba2b24d3e678fb31231caab5f4071c7b1463731338bf8ae4e",
};

function read(name: string): Line[] {
  return readLines(readFileSync(new URL(name, folder), "utf8"));
}

function entriesOf(lines: readonly Line[]): { id: string; entry: string }[] {
  return lines.filter((line) => "entry" in line);
}

test("no fixture was changed or taken away", () => {
  const found = names.map((name) => [
    name,
    createHash("sha256")
      .update(readFileSync(new URL(name, folder)))
      .digest("hex"),
  ]);

  expect(Object.fromEntries(found)).toEqual(evidence);
});

describe.each(names)("fixtures/format/%s", (name) => {
  const lines = read(name);

  test("is a valid journal to the second implementation, to the roots it names", () => {
    expect(checkJournal(lines)).toEqual([]);
  });

  test("is a valid journal to verify", async () => {
    const report = await verify(lineReader(lines));

    expect(report.findings).toEqual([]);
    expect(report.verdict).toBe("OK");
    const roots = lines.filter((line) => "root" in line).map(({ root }) => root);
    if (roots.length > 0) expect(roots).toContain(report.root);
  });

  test("has the ids that it names, is canonical, and is written again byte for byte", () => {
    for (const { id, entry } of entriesOf(lines)) {
      expect(entryId(entry)).toBe(id);
      const { seq, prev, tx, stream, rev, type, tv, at, v: _v, data, ...labels } = parseEntry(Buffer.from(entry));
      const place = { seq, prev, txFirst: tx[0], txCount: tx[1], rev, at };
      expect(encodeEntry(entryTemplate(stream, type, tv, labels), canonicalize(data), place)).toBe(entry);
    }
  });

  test("has contents that hash to the digests which its entries name", () => {
    const named = new Map(
      entriesOf(lines)
        .flatMap(({ entry }) => contentReferences(parseEntry(entry).data))
        .map((reference) => [reference.n, reference]),
    );
    for (const line of lines) {
      if ("digest" in line) expect(line.digest).toBe(named.get(line.n)?.$content);
      if (!("media" in line)) continue;
      const bytes = Buffer.from(line.bytes, "base64");
      expect(named.get(line.n)).toMatchObject({
        $content: contentDigest(line.media, Buffer.from(line.salt, "base64"), bytes),
        bytes: bytes.length,
      });
    }
  });

  test("is no longer valid when any entry is changed, left out or put twice", () => {
    const entries = entriesOf(lines);
    for (const at of new Set([0, Math.floor(entries.length / 2), entries.length - 1])) {
      const line = entries[at] ?? expect.fail("no entry");
      const where = lines.indexOf(line);
      const changed = { id: line.id, entry: line.entry.replace('"v":1}', '"v":1 }') };
      const resealed = {
        ...line,
        entry: line.entry.replace(/"at":(\d+)/, (_, time: string) => `"at":${Number(time) + 1}`),
      };

      expect(checkJournal(lines.with(where, changed)).map((problem) => problem.code)).toContain("E_CANON");
      expect(checkJournal(lines.with(where, changed)).map((problem) => problem.code)).toContain("E_ID");
      expect(checkJournal(lines.with(where, resealed)).map((problem) => problem.code)).toContain("E_ID");
      expect(checkJournal(lines.toSpliced(where, 1))).not.toEqual([]);
      expect(checkJournal(lines.toSpliced(where, 0, line))).not.toEqual([]);
    }
  });
});

describe("the receipts of receipts.jsonl", () => {
  const lines = read("receipts.jsonl");
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const note = sha256("text/plain;charset=utf-8\nring twice");
  const order7 = `{"lines":{"10":"tea","9":"crème","b":{"x":[2,null],"y":1}},"note":{"$content":"${note}"},"order":"7","total":42}`;
  const texts: Readonly<Record<string, string>> = {
    c1: `["order.place",${order7}]`,
    c2: `["order.place",${order7}]`,
    c3: '[["order.place",{"order":"8","total":1}],["order.note",{"order":"8","text":"x"}],["order.echo",{"answer":null}],["order.echo",{}]]',
    "é😀 /": '[["order.place",{"order":"9","total":1}],["order.place",{"order":"8","total":1}]]',
  };
  const receipts = entriesOf(lines)
    .map(({ entry }) => parseEntry(entry))
    .filter(({ type }) => type === "receipt.recorded")
    .map(({ data }) => parseReceipt(data));

  test("have the fingerprints of what was sent, computed by hand", () => {
    const salts = lines.filter((line) => "media" in line);
    for (const { id, salt, fingerprint } of receipts) {
      const bytes = salts.find(({ n }) => n === salt.n)?.bytes;
      if (id === "c4") expect(bytes).toBeUndefined();
      else expect(sha256(`runledger content/v1\napplication/json\n${bytes}\n${texts[id]}`)).toBe(fingerprint);
    }
  });

  test("are one for each id, in the order in which they were sent", () => {
    expect(receipts.map((receipt) => [receipt.id, receipt.name ?? receipt.names, receipt.outcome])).toEqual([
      ["c1", "order.place", "accepted"],
      ["c2", "order.place", "refused"],
      ["c3", ["order.place", "order.note", "order.echo"], "accepted"],
      ["é😀 /", ["order.place"], "refused"],
      ["c4", "order.keep", "accepted"],
    ]);
  });
});

describe("the second implementation and the first", () => {
  test("agree on what is canonical and what an entry is, over every single-byte change of an entry", () => {
    const [, line] = entriesOf(read("every-member.jsonl"));
    const bytes = Buffer.from(line?.entry ?? "");
    const disagreements: string[] = [];
    for (let at = 0; at < bytes.length; at++) {
      for (const byte of [0x00, 0x20, 0x22, 0x30, 0x39, 0x41, 0x5c, 0x7b, 0x7d, 0xc3, 0xff, (bytes[at] ?? 0) ^ 1]) {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        if ((typeof readEntry(changed) === "string") !== refuses(changed))
          disagreements.push(`${at}: ${changed.toString("latin1")}`);
        if (idOf(changed) !== entryId(changed)) disagreements.push(`${at}: id`);
      }
    }
    expect(disagreements).toEqual([]);
    expect(readEntry(bytes)).toEqual(parseEntry(bytes));
    expect(canonical(parseEntry(bytes))).toBe(canonicalize(parseEntry(bytes)));
  });
});

function refuses(bytes: Uint8Array): boolean {
  try {
    parseEntry(bytes);
    return false;
  } catch {
    return true;
  }
}
