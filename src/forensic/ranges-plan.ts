/** Which entries workers prove, and which the caller's thread checks itself, so that neither waits for the other.
 *  A worker is asked for a range that lies ahead. The gap before it is the caller's, and as large as what the caller checks
 *  while a range is proved: that is learnt, in entries, from one range to the next; no clock is asked. */

export interface PlanSizes {
  /** How many entries there are. */
  readonly size: number;
  readonly rangeEntries: number;
  readonly gapEntriesMax: number;
}

/** Gaps are whole pages. */
const pageEntries = 512;

export class RangePlan {
  private readonly sizes: PlanSizes;
  private gap: number;
  /** Behind the last range. */
  private end = 0;

  constructor(sizes: PlanSizes) {
    this.sizes = sizes;
    this.gap = sizes.gapEntriesMax;
  }

  /** The next range; null when what is left is the caller's. The caller stands at a position, and so many entries ahead of
   *  it are in ranges already. */
  next(position: number, asked: number): { readonly from: number; readonly to: number } | null {
    const { size, rangeEntries } = this.sizes;
    const end = Math.max(this.end, position);
    const left = end - position - asked;
    const from = end + wholePages(Math.max(this.gap - left, 0));
    if (from >= size) return null;
    this.end = Math.min(from + rangeEntries, size);
    return { from, to: this.end };
  }

  /** A range was proved while the caller checked so many entries; then the caller may have `waited` for it. */
  learn(checked: number, waited: boolean): void {
    // A gap that is a little too large costs nothing: the worker goes on with the next range.
    const gap = waited ? Math.max(checked, pageEntries) * 1.5 : checked * 1.1;
    this.gap = Math.min(gap, this.sizes.gapEntriesMax);
  }
}

function wholePages(entries: number): number {
  return Math.ceil(entries / pageEntries) * pageEntries;
}
