/** Numbers and times for reading: the same on every machine, whatever its language and zone. */

/** 1234567 as `1,234,567`. */
export function grouped(value: number): string {
  return String(Math.trunc(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Ms since the epoch as ISO 8601 in UTC; as a number when it is no moment that a date can show. */
export function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms since 1970` : date.toISOString();
}

/** A span of time in the unit that reads best. */
export function sayDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${grouped(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}
