/** A median with what lies around it. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Median, minimum and maximum of a list that has at least one value. */
export function spread(values: readonly number[]): Spread {
  const ascending = [...values].sort((left, right) => left - right);
  return { median: percentile(ascending, 50), min: ascending[0] ?? Number.NaN, max: ascending.at(-1) ?? Number.NaN };
}

/** A percentile by nearest rank. The values come in ascending order. */
export function percentile(ascending: readonly number[], percent: number): number {
  return ascending[Math.max(Math.ceil((percent / 100) * ascending.length) - 1, 0)] ?? Number.NaN;
}
