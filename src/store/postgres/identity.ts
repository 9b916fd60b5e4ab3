/** Is the journal still the one that was opened? Case A13: a schema can be dropped and made again, or another one can get its name,
 *  under a running ledger, whose statements go by names.
 *  Invariant: nothing is read from, or written to, a journal that begins with another entry. The same journal, as it was
 *  earlier, is no other one. */
import { LedgerError } from "../../kernel/errors.js";

export class JournalIdentity {
  private readonly shown: string;
  private first: string | null = null;

  constructor(shown: string) {
    this.shown = shown;
  }

  /** Refuses when the journal does not begin with the entry of this id any more. Null: it has none. */
  require(found: string | null): void {
    this.first ??= found;
    if (this.first === found) return;
    throw new LedgerError(
      "STORE_DAMAGED",
      `${this.shown} must be the journal that was opened, found ${found === null ? "none" : "another one"}`,
      {
        details: { location: this.shown, reason: "replaced" },
        hint: "stop writing; what was acknowledged was in the schema that had this name",
      },
    );
  }
}
