import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory of the run's own on a real disk, removed when the run ends, however it ends. */
export interface Scratch {
  readonly directory: string;
  /** A path in it that nobody else was given. */
  path(name: string): string;
  remove(): void;
}

/** Makes it in `parent`, or where the system keeps temporary files. */
export function createScratch(parent: string = tmpdir()): Scratch {
  const directory = mkdtempSync(join(parent, "runledger-bench-"));
  let given = 0;
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  const interrupted = (): void => {
    remove();
    process.exitCode = 130;
    process.kill(process.pid, "SIGKILL"); // a run in the middle of a synchronous loop has no better moment
  };
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  process.once("exit", remove);
  return { directory, path: (name) => join(directory, `${String(given++).padStart(3, "0")}-${name}`), remove };
}

const kinds: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x2fc12fc1: "zfs",
  0x794c7630: "overlayfs",
  0x01021994: "tmpfs, which is memory: ratios to a disk mean nothing",
};

/** The kind of the file system that holds a directory. */
export function filesystemOf(directory: string): string {
  const { type } = statfsSync(directory);
  return kinds[type] ?? `of type 0x${type.toString(16)}`;
}
