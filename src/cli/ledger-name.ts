/** How messages call a ledger: a file by its name, a journal in PostgreSQL without user, password and parameters, which other
 *  users may see and reports may carry. */

/** Is it a location that names no file? */
export function isAddress(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
}

/** The name of a ledger that was opened at this location. */
export function ledgerName(location: string): string {
  if (!isAddress(location)) return location;
  const { host, pathname, searchParams } = new URL(location);
  return `postgres://${host}${pathname}?journal=${searchParams.get("journal") ?? "runledger"}`;
}
