/** How messages call a ledger: a file by its name, a journal in PostgreSQL without user, password and parameters, which other
 *  users may see and reports may carry. */

/** Is it a location that names no file? */
export function isAddress(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
}

/** How to call the ledger that was opened by this name: a file as it was named, a journal in PostgreSQL as its store says. */
export function ledgerName(named: string, { location }: { readonly location: string }): string {
  return isAddress(named) ? location : named;
}
