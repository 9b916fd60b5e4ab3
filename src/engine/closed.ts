import { LedgerError } from "../kernel/errors.js";

/** The refusal of what comes after the end. */
export function closed(): LedgerError {
  return new LedgerError("CLOSED", "the ledger must be open, found it closed");
}
