import { invariant } from "../../kernel/errors.js";
import type { ContentRow } from "../../journal/store.js";
import { columns } from "./arrays.js";

/** Bytes of contents in one statement. */
const bytesMax = 8 * 1024 * 1024;

/** Contents that follow so many others, as the lists of `insertContents`, in as few statements as their size allows. */
export function* contentLists(contents: readonly ContentRow[], count: number): Generator<unknown[][]> {
  let rows: unknown[][] = [];
  let bytes = 0;
  for (const [index, row] of contents.entries()) {
    const before = count + index;
    invariant(row.n === before + 1, `content ${row.n} must follow content ${before}`);
    rows.push([row.n, row.digest, row.media, row.salt, row.plain, row.bytes]);
    bytes += row.bytes.length;
    if (bytes <= bytesMax) continue;
    yield columns(rows, 6);
    rows = [];
    bytes = 0;
  }
  if (rows.length > 0) yield columns(rows, 6);
}
