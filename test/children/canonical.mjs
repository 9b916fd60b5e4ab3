/** Prints what a canonical text and its digests are in this process's locale, and what sorting by that locale gives.
 *  usage: canonical.mjs */
import { writeSync } from "node:fs";
import { canonicalize } from "../../dist/src/kernel/canonical.js";
import { contentDigest } from "../../dist/src/journal/content.js";
import { encodeEntry, entryId, entryTemplate, zeroId } from "../../dist/src/journal/entry.js";

const text = canonicalize({ z: 1, ä: 2, a: 3, B: 4, I: "I".toLowerCase(), ı: 5, i: 6, n: 1234567.891, big: 1e21 });
const template = entryTemplate("note/ä", "note.added", 1, { actor: "İ", meta: { ö: "1", o: "2", O: "3" } });
const entry = encodeEntry(template, text, {
  seq: 0,
  prev: zeroId,
  txFirst: 0,
  txCount: 1,
  rev: 1,
  at: 1_767_225_600_000,
});
const bytes = Buffer.from(text);

const result = {
  witness: {
    locale: Intl.DateTimeFormat().resolvedOptions().locale,
    sorted: ["z", "ä", "a", "B"].sort((a, b) => a.localeCompare(b)).join(""),
  },
  hex: bytes.toString("hex"),
  id: entryId(entry),
  digest: contentDigest("application/json", new Uint8Array(32), bytes),
};
writeSync(1, `${JSON.stringify(result)}\n`);
