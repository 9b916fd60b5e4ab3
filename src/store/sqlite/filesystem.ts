/** File systems on which SQLite's locks and shared memory do not hold between machines. Case A10. */
import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { LedgerError } from "../../kernel/errors.js";

/** `f_type` of statfs(2) on Linux. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, "nfs"],
  [0x517b, "smb"],
  [0xff534d42, "cifs"],
  [0xfe534d42, "smb2"],
  [0x5346414f, "afs"],
  [0x6b414653, "afs"],
  [0x73757245, "coda"],
  [0x00c36400, "ceph"],
  [0x01021997, "9p"],
  [0x0bd00bd0, "lustre"],
  [0x47504653, "gpfs"],
  [0x7461636f, "ocfs2"],
  [0x01161970, "gfs2"],
  [0x19830326, "beegfs"],
  [0x564c, "ncp"],
]);
const networkKinds: ReadonlySet<string> = new Set(networkTypes.values());

/** The kind of file system at a path, or at the nearest directory above it that exists: `nfs`, `smb` …, else `local`. */
export function filesystemKind(path: string): string {
  let existing = path;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return networkTypes.get(statfsSync(existing).type >>> 0) ?? "local";
}

export function isNetwork(kind: string): boolean {
  return networkKinds.has(kind);
}

/** Refuses a network file system before anything is created on it. */
export function refuseNetwork(path: string, kind: string): void {
  if (!isNetwork(kind)) return;
  throw new LedgerError(
    "STORE_UNSUPPORTED",
    `${path} must be on a local file system, found ${kind}: its locks do not hold between machines`,
    {
      details: { path, found: kind },
      hint: "use a local disk, or allowNetworkFilesystem when one machine alone ever opens the file",
    },
  );
}
