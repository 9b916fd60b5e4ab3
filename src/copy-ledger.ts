import { copyJournal } from "./engine/copy-journal.js";
import type { CopiedLedger } from "./engine/copy-journal.js";
import { checkMembers, parseInteger } from "./kernel/members.js";
import { busyTimeoutMsDefault } from "./kernel/limits.js";
import { openStore, refuseExisting } from "./open-ledger.js";

/** How a ledger is copied. @public */
export interface CopyOptions {
  /** How long to wait for a lock, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
}

/** Copies a ledger to another place, of another kind too: from a file into PostgreSQL, and back. The copy has the same entries
 *  byte for byte, the same contents, erasures, checkpoints and consumers, without their owners; documents are folded again
 *  when it is opened. It is the same journal: stop everybody who writes the old one, and write on in one of them only, or the
 *  two are forks. All of it is copied, or nothing.
 *  `NOT_FOUND`: no ledger there; `STORE_EXISTS`: there is one at `to`; `STORE_DAMAGED`: what is read is not as it was written;
 *  `STORE_BUSY`: somebody wrote meanwhile. @public */
export async function copyLedger(from: string, to: string, options: CopyOptions = {}): Promise<CopiedLedger> {
  checkMembers(options, "options", ["busyTimeoutMs"]);
  const { busyTimeoutMs = busyTimeoutMsDefault } = options;
  parseInteger(busyTimeoutMs, "options.busyTimeoutMs", 0, 24 * 60 * 60 * 1000);
  const source = await openStore(from, { readOnly: true }, busyTimeoutMs, () => {});
  try {
    await refuseExisting(to, {}, busyTimeoutMs);
    const target = await openStore(to, {}, busyTimeoutMs, () => {});
    try {
      return await copyJournal(source, target, busyTimeoutMs);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
