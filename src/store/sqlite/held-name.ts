/** Does a file still stand at its path? Asked at each commit, so it must be cheap, and it must not ask for the file's
 *  times: Linux then gives the file a fresh time at its next write, and the sync of the log has an inode to write as well
 *  (measured: a commit of 64 µs takes 95). The kernel's name of an open descriptor answers without that.
 *  The descriptor is a mere path (O_PATH): it reads nothing, and closing it drops none of the process's locks. */
import { closeSync, fstatSync, lstatSync, openSync, readlinkSync } from "node:fs";

/** O_PATH of asm-generic/fcntl.h; Node has no name for it. */
const pathOnly = 0o10000000;
const systems: readonly string[] = ["linux x64", "linux arm64"];

export class HeldName {
  private readonly descriptor: number;
  private readonly link: string;
  private readonly name: string;

  private constructor(descriptor: number) {
    this.descriptor = descriptor;
    this.link = `/proc/self/fd/${descriptor}`;
    this.name = readlinkSync(this.link);
  }

  /** Holds the file that stands at a path; null where the system cannot tell its name in this way. */
  static hold(path: string): HeldName | null {
    if (!systems.includes(`${process.platform} ${process.arch}`)) return null;
    let descriptor: number | null = null;
    try {
      descriptor = openSync(path, pathOnly);
      if (fstatSync(descriptor).ino !== lstatSync(path).ino) throw new Error("replaced in between");
      return new HeldName(descriptor);
    } catch {
      // No /proc, no descriptor left, or the file went away: the slower way says which.
      if (descriptor !== null) closeSync(descriptor);
      return null;
    }
  }

  /** True when the file is where it was; false when that is not certain. */
  stands(): boolean {
    try {
      return readlinkSync(this.link) === this.name;
    } catch {
      return false;
    }
  }

  release(): void {
    closeSync(this.descriptor);
  }
}
