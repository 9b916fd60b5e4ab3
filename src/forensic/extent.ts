/** How far a journal reaches, in a few dozen reads of one row instead of a count of all. */
import type { RawReader } from "../journal/raw-reader.js";

/** The highest position of an entry; −1 when there is none. */
export async function lastPosition(reader: RawReader): Promise<number> {
  const isBehind = async (position: number): Promise<boolean> =>
    (await reader.entries(position < 0 ? null : position, 1)).length > 0;
  if (!(await isBehind(-1))) return -1;
  let low = 0; // always: a row is there or behind
  let high = 1;
  for (; high <= Number.MAX_SAFE_INTEGER && (await isBehind(high)); high *= 2) low = high + 1;
  // Rows reach at least to `low` and not beyond `high`.
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isBehind(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
