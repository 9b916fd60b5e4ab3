/** A journal as others see it: its tree as tiles, its checkpoint as a note, read by programs that are not ours. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { formatSignerKey } from "../../src/journal/note-keys.js";
import type { RawReader } from "../../src/journal/raw-reader.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openNote } from "../journal/second-implementation.js";
import { checkTiledLog } from "../journal/tiled-log.js";
import { hasVectors, listVectors, readVector } from "../kernel/vectors.js";

const signer = formatSignerKey("example.com/orders", Buffer.alloc(32, 5));
const verifier = "example.com/orders+7a94cebd+AW56HN0psLeP0Tr0xVmP7/TvKpcWbjym8uT7/M2AUFvx";
const events = 70_000;

/** Level by level what a journal has as tiles: the bytes of each file by its path. */
async function exportTiles(reader: RawReader, note: string): Promise<Map<string, Buffer>> {
  const files = new Map([["checkpoint", Buffer.from(note)]]);
  const put = (level: string, parts: readonly Buffer[]): void => {
    for (let first = 0; first < parts.length; first += 256) {
      const tile = parts.slice(first, first + 256);
      const n = String(first / 256).padStart(6, "0");
      const path = `tile/${level}/${first / 256 < 1_000 ? n.slice(3) : `x${n.slice(0, 3)}/${n.slice(3)}`}`;
      files.set(tile.length === 256 ? path : `${path}.p/${tile.length}`, Buffer.concat(tile));
    }
  };

  const [ids, bundles]: [Buffer[], Buffer[]] = [[], []];
  for (let after: number | null = null; ; after = ids.length - 1) {
    const rows = await reader.entries(after, 5_000);
    if (rows.length === 0) break;
    for (const { id, entry } of rows) {
      const bytes = Buffer.from(entry as string);
      ids.push(Buffer.from(id as string, "hex"));
      bundles.push(Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 255), bytes]));
    }
  }
  put("entries", bundles);
  put("0", ids);
  const nodes = await reader.nodes(null, 1_000);
  for (const level of new Set(nodes.map((node) => node.level as number)))
    put(
      String(level),
      nodes.filter((node) => node.level === level).map(({ hash }) => Buffer.from(hash as string, "hex")),
    );
  return files;
}

describe(`a journal of ${events} events`, () => {
  let ledger: Ledger;
  let files: Map<string, Buffer>;
  const place = mkdtempSync(join(tmpdir(), "runledger-tiles-"));
  afterAll(() => rmSync(place, { recursive: true }));

  beforeAll(async () => {
    const store = createMemoryStore();
    ledger = await openLedger(store, { origin: "example.com/orders", key: signer });
    for (let first = 0; first < events; first += 10_000)
      await ledger.append(
        `order/${first}`,
        Array.from({ length: 10_000 }, (_, at) => ({ type: "order.placed", data: { number: first + at } })),
      );
    const reader = await store.raw();
    files = await exportTiles(reader, (await ledger.checkpoint()).note);
    await reader.close();
  }, 120_000);

  test("is a log in tiles of three levels that code which shares nothing with ours accepts", () => {
    const levels = [...files.keys()].map((path) => path.split("/").slice(0, 2).join("/"));

    expect(new Set(levels)).toEqual(new Set(["checkpoint", "tile/entries", "tile/0", "tile/1", "tile/2"]));
    expect(files.has("tile/0/272")).toBe(true);
    expect(files.has("tile/1/000")).toBe(true);
    expect([...files.keys()].filter((path) => path.startsWith("tile/2/"))).toEqual(["tile/2/000.p/1"]);
    expect(checkTiledLog(files, verifier)).toEqual([]);
  });

  test("is no such log any more with one byte changed, one file gone or one more", () => {
    const changed = (...paths: readonly string[]): Map<string, Buffer> =>
      paths.reduce((all, path) => {
        const bytes = Buffer.from(all.get(path)!);
        bytes[20]! ^= 1;
        return all.set(path, bytes);
      }, new Map(files));
    expect(checkTiledLog(changed("checkpoint"), verifier)).toEqual(["checkpoint does not verify"]);

    const tiles = changed("tile/0/272", "tile/1/000", "tile/2/000.p/1").set("tile/0/x001/000", Buffer.alloc(32));
    tiles.delete("tile/0/007");
    expect(checkTiledLog(tiles, verifier)).toEqual([
      "tile/0/007 is missing",
      "tile/0/007 has other hashes",
      "tile/0/272 has other hashes",
      "tile/1/000 has other hashes",
      "tile/2/000.p/1 has other hashes",
      "tile/0/x001/000 does not belong to it",
    ]);
    expect(checkTiledLog(changed("tile/entries/007"), verifier)).toEqual([
      "checkpoint has another root",
      "tile/0/007 has other hashes",
      "tile/1/000 has other hashes",
      "tile/2/000.p/1 has other hashes",
    ]);
  });

  test("has a checkpoint that openssl verifies", { skip: !runs("openssl", "version") }, () => {
    const note = files.get("checkpoint")!.toString();
    const cut = note.indexOf("\n\n") + 1;
    const signature = Buffer.from(note.slice(cut + 1).split(" ")[2]!, "base64").subarray(4);
    const publicKey = Buffer.from(verifier.split("+").slice(2).join("+"), "base64").subarray(1);
    const path = (name: string, bytes: Uint8Array): string => {
      writeFileSync(join(place, name), bytes);
      return join(place, name);
    };
    const spki = path("key", Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), publicKey]));
    const key = ["-pubin", "-keyform", "DER", "-inkey", spki];
    const check = (text: string): number | null => {
      const inputs = ["-in", path("text", Buffer.from(text)), "-sigfile", path("signature", signature)];
      return spawnSync("openssl", ["pkeyutl", "-verify", "-rawin", ...key, ...inputs]).status;
    };

    expect(check(note.slice(0, cut))).toBe(0);
    expect(check(note.slice(0, cut).replace("orders", "others"))).toBe(1);
  });

  test("has ids, nodes and roots that sha256sum computes", { skip: !runs("sha256sum", "--version") }, async () => {
    const bundle = files.get("tile/entries/000")!;
    const entries: Buffer[] = [];
    for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at))
      entries.push(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at)));

    let level = sha256sum(entries.map((entry) => Buffer.concat([Buffer.of(0), entry])));
    expect(Buffer.concat(level).equals(files.get("tile/0/000")!)).toBe(true);
    while (level.length > 1)
      level = sha256sum(
        Array.from({ length: level.length / 2 }, (_, at) =>
          Buffer.concat([Buffer.of(1), ...level.slice(2 * at, 2 * at + 2)]),
        ),
      );
    expect(level[0]!.equals(files.get("tile/1/000")!.subarray(0, 32))).toBe(true);
    const { note } = await ledger.checkpoint({ size: 256 });
    expect(openNote(note, verifier)?.root.equals(level[0]!)).toBe(true);
  });

  /** The SHA-256 of each, by the program of this name, all in one run. */
  function sha256sum(inputs: readonly Buffer[]): Buffer[] {
    const paths = inputs.map((bytes, at) => {
      writeFileSync(join(place, `input-${at}`), bytes);
      return join(place, `input-${at}`);
    });
    const { stdout } = spawnSync("sha256sum", paths, { encoding: "utf8" });
    return stdout
      .trim()
      .split("\n")
      .map((line) => Buffer.from(line.slice(0, 64), "hex"));
  }
});

test.skipIf(!hasVectors("tlog-tiles"))("the checker accepts a log of others, at every size", () => {
  const log = "tlog-tiles/tessera-testdata-log";
  const vkey = readVector("tlog-tiles/vkey.txt").toString().trim();
  const widths = listVectors(`${log}/tile/0/000.p`);
  expect(widths).toHaveLength(15);
  for (const width of widths) {
    const paths = [`tile/0/000.p/${width}`, `tile/entries/000.p/${width}`];
    const files = new Map(paths.map((path) => [path, readVector(`${log}/${path}`)]));

    expect(checkTiledLog(files.set("checkpoint", readVector(`${log}/checkpoint.${width}`)), vkey)).toEqual([]);
  }
});

function runs(program: string, argument: string): boolean {
  return spawnSync(program, [argument]).status === 0;
}
