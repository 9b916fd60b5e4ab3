/** Numbers for reading, the same on every machine. */

/** 1234567 as `1,234,567`. */
export function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `1 event`, `2 events`; with a word of its own for more than one where that is not regular. */
export function counted(value: number, one: string, more: string = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : more}`;
}
