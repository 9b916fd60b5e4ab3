/** A raw reader over a journal in JSON Lines form, so that `verify` can judge a fixture without any store. */
import { contentDigest, plainHash } from "../../src/journal/content.js";
import type {
  RawContent,
  RawEntry,
  RawReader,
  RawStream,
  RawStreamPage,
  RawType,
} from "../../src/journal/raw-reader.js";
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
  const pages: RawStreamPage[] = streams.flatMap(({ seqs }, index) =>
    Array.from({ length: Math.floor(seqs.length / 256) }, (_, page) => ({
      stream: index + 1,
      page,
      seqs: seqs.slice(page * 256, page * 256 + 256),
    })),
  );
  const after = <T>(rows: readonly T[], key: (row: T) => unknown, last: number | null, limit: number): readonly T[] =>
    rows.filter((row) => last === null || Number(key(row)) > last).slice(0, limit);

  return {
    location: "lines",
    copied: false,
    evidence: async () => [],
    problems: async () => [],
    entryCount: async () => entries.length,
    entries: async (last, limit, asBytes) => {
      const found = after(entries, (row) => row.seq, last, limit);
      return asBytes === true ? found.map((row) => ({ ...row, entry: Buffer.from(row.entry as string) })) : found;
    },
    streams: async (last, limit) => after(streamRows, (row) => row.id, last, limit),
    types: async () => typeRows,
    streamPages: async (last, limit) =>
      pages
        .filter(
          (row) =>
            last === null ||
            Number(row.stream) > last.stream ||
            (row.stream === last.stream && Number(row.page) > last.page),
        )
        .slice(0, limit),
    contents: async (last, limit) => after(contents, (row) => row.n, last, limit),
    close: async () => {},
  };
}
