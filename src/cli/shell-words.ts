/** A word as a shell reads it, for commands that a reader may copy. What may reach a terminal is escaped by whoever shows it. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_%+,./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
