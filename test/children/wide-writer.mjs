/** Writes lines of every length, as long as it is asked to: most are short, some are longer than a capture keeps in one piece, some are
 *  no text, and the last one has no end. Then tells in a file how much it wrote, and the digest of that.
 *  usage: wide-writer.mjs BYTES SEED FILE */
import { createHash } from "node:crypto";
import { writeFileSync, writeSync } from "node:fs";
import { seededNumbers } from "../../dist/src/testing/index.js";

const [bytesMax, seed, file] = process.argv.slice(2);
const next = seededNumbers(Number(seed));
const digest = createHash("sha256");
const text = Buffer.from("0123456789 größer als ASCII, und mit Ende → ".repeat(6_000));
const noise = Buffer.from(
  Array.from({ length: 300_000 }, () => Math.floor(next() * 256)).map((byte) => (byte === 10 ? 255 : byte)),
);

function lengthOf(draw) {
  if (draw < 0.7) return Math.floor(next() * 200);
  return Math.floor(next() * (draw < 0.97 ? 4_000 : 160_000));
}

let written = 0;
const chunks = [];
let held = 0;
function flush() {
  const chunk = Buffer.concat(chunks.splice(0));
  held = 0;
  digest.update(chunk);
  for (let at = 0; at < chunk.length;) at += writeSync(1, chunk, at);
}

while (written < Number(bytesMax)) {
  const line = (next() < 0.05 ? noise : text).subarray(0, lengthOf(next()));
  chunks.push(line, Buffer.from("\n"));
  written += line.length + 1;
  held += line.length + 1;
  if (held > 256 * 1024) flush();
}
chunks.push(Buffer.from("the end"));
written += "the end".length;
flush();
writeFileSync(file, JSON.stringify({ bytes: written, digest: digest.digest("hex") }));
