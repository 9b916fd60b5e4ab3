/** A raw reader over a journal in JSON Lines form, so that `verify` can judge a fixture without any store. */
import { contentDigest, plainHash } from "../../src/journal/content.js";
import type { RawContent, RawEntry, RawReader, RawStream, RawType } from "../../src/journal/raw-reader.js";
import { arrayRawReader, emptyRows } from "../../src/testing/array-raw-reader.js";
import type { Line } from "./second-implementation.js";

export function readLines(text: string): Line[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

interface Members {
  readonly seq: number;
  readonly stream: string;
  readonly rev: number;
  readonly type: string;
  readonly at: number;
}

/** The rows that a store would hold of these lines. */
export function lineReader(lines: readonly Line[]): RawReader {
  const streams: { name: string; seqs: number[] }[] = [];
  const types: string[] = [];
  const entries: RawEntry[] = [];
  const contents: RawContent[] = [];
  for (const line of lines) {
    if ("entry" in line) {
      const { seq, stream: name, rev, type, at } = JSON.parse(line.entry) as Members;
      let number = streams.findIndex((each) => each.name === name);
      if (number < 0) number = streams.push({ name, seqs: [] }) - 1;
      if (!types.includes(type)) types.push(type);
      const seqs = streams[number]?.seqs ?? [];
      entries.push({
        seq,
        id: line.id,
        stream: number + 1,
        rev,
        before: seqs.at(-1) ?? null,
        type: types.indexOf(type) + 1,
        at,
        skew: 0,
        entry: line.entry,
      });
      seqs.push(seq);
    } else if ("media" in line) {
      const [salt, bytes] = [Buffer.from(line.salt, "base64"), Buffer.from(line.bytes, "base64")];
      const plain = bytes.length < 1_024 ? null : plainHash(line.media, bytes);
      contents.push({
        n: line.n,
        digest: contentDigest(line.media, salt, bytes),
        media: line.media,
        salt,
        bytes,
        plain,
        erased: null,
      });
    } else if ("erased" in line) {
      contents.push({
        n: line.n,
        digest: line.digest,
        media: null,
        salt: null,
        bytes: null,
        plain: null,
        erased: line.erased,
      });
    }
  }
  contents.sort((left, right) => Number(left.n) - Number(right.n));
  const streamRows: RawStream[] = streams.map(({ name, seqs }, index) => ({
    id: index + 1,
    name,
    rev: seqs.length,
    seq: seqs.at(-1),
  }));
  const typeRows: RawType[] = types.map((name, index) => ({ id: index + 1, name }));
  // No fixture has a stream of 256 revisions, whose pages would stand here.
  return arrayRawReader({
    ...emptyRows(),
    entries,
    streams: streamRows,
    types: typeRows,
    contents,
  });
}
