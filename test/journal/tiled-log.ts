/** Checks a log in the form of C2SP `tlog-tiles`, written from FORMAT.md sections 8 and 9 alone: it shares no code with
 *  `src`. Every hash is computed again from the entries in the bundles. */
import { idOf, openNote, rootOf } from "./second-implementation.js";

/** The bytes of each file by its path. */
export type LogFiles = ReadonlyMap<string, Uint8Array>;

/** What is wrong with the log, in words; nothing when it is in order. */
export function checkTiledLog(files: LogFiles, verifierKey: string): string[] {
  const problems: string[] = [];
  const checkpoint = openNote(Buffer.from(files.get("checkpoint") ?? []).toString(), verifierKey);
  if (checkpoint === null) return ["checkpoint does not verify"];
  const known = new Set(["checkpoint"]);
  const read = (path: string): Buffer => {
    known.add(path);
    if (!files.has(path)) problems.push(`${path} is missing`);
    return Buffer.from(files.get(path) ?? []);
  };

  const leaves: Buffer[] = [];
  for (const { path, width } of tilesOf("entries", checkpoint.size)) {
    const bundle = read(path);
    const before = leaves.length;
    let at = 0;
    while (at + 2 <= bundle.length) {
      const end = at + 2 + bundle.readUInt16BE(at);
      if (end > bundle.length) break;
      leaves.push(Buffer.from(idOf(bundle.subarray(at + 2, end)), "hex"));
      at = end;
    }
    if (at !== bundle.length || leaves.length - before !== width) problems.push(`${path} is not ${width} entries`);
  }
  if (!rootOf(leaves).equals(checkpoint.root)) problems.push("checkpoint has another root");

  let level = leaves;
  for (let l = 0; level.length > 0; l++) {
    let first = 0;
    for (const { path, width } of tilesOf(String(l), level.length)) {
      if (!read(path).equals(Buffer.concat(level.slice(first, first + width))))
        problems.push(`${path} has other hashes`);
      first += width;
    }
    // Partial tiles are never hashed into the level above.
    const full = Math.floor(level.length / 256);
    level = Array.from({ length: full }, (_, n) => rootOf(level.slice(n * 256, n * 256 + 256)));
  }
  for (const path of files.keys()) if (!known.has(path)) problems.push(`${path} does not belong to it`);
  return problems;
}

function tilesOf(level: string, count: number): { readonly path: string; readonly width: number }[] {
  return Array.from({ length: Math.ceil(count / 256) }, (_, n) => {
    const width = Math.min(256, count - n * 256);
    return { path: `tile/${level}/${groups(n)}${width === 256 ? "" : `.p/${width}`}`, width };
  });
}

function groups(n: number): string {
  const digits = String(n).padStart(Math.ceil(String(n).length / 3) * 3, "0");
  return digits.replaceAll(/\d{3}(?=\d)/g, "x$&/");
}
