/** Which process it is, so that it can be told from another one that has its number later: a pid alone says nothing. */
import type { ProcessTable } from "./process-table.js";

/** As `attempt.started` records it. */
export interface ProcessIdentity {
  readonly host: string;
  /** Which start of that machine. */
  readonly boot: string;
  readonly pid: number;
  /** When it was started, as the system counts it. */
  readonly startedAt: string;
}

/** Who a live process is; null when there is none with that pid. */
export function identifyProcess(pid: number, table: ProcessTable): ProcessIdentity | null {
  const row = table.get(pid);
  return row === null ? null : { host: table.host, boot: table.boot, pid, startedAt: String(row.started) };
}
