/** Is the ledger file still the one that was opened? Case A13: files can be deleted or replaced under a running process,
 *  and SQLite goes on writing to what nobody can open any more.
 *  Invariants: nothing is acknowledged unless the file and its log still stand at their paths after the commit; once
 *  something was found gone the store writes and reads no more, because what was acknowledged may be gone with it. */
import { lstatSync } from "node:fs";
import { LedgerError } from "../../kernel/errors.js";
import { HeldName } from "./held-name.js";
import type { Identity } from "./location.js";

/** Inode numbers as doubles: exact below 2^53, and a quarter of the cost of BigInts, which are asked for at each commit. */
type Inode = number | null;

export class FileGuard {
  private readonly path: string;
  private readonly main: Inode;
  private log: Inode = null;
  private memory: Inode = null;
  private sidecarsKnown = false;
  private mainName: HeldName | null = null;
  private logName: HeldName | null = null;
  private failure: LedgerError | null = null;

  constructor(path: string, main: Identity) {
    this.path = path;
    this.main = Number(main.ino);
  }

  /** Was something found deleted or replaced? */
  get failed(): boolean {
    return this.failure !== null;
  }

  /** Refuses when something was found gone before; asks nothing. */
  requireUnbroken(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Remembers the sidecars: a connection holds them open from here on. */
  rememberSidecars(): void {
    this.log = inode(`${this.path}-wal`);
    this.memory = inode(`${this.path}-shm`);
    this.sidecarsKnown = true;
    this.checkAll();
    this.mainName ??= HeldName.hold(this.path);
    this.logName?.release();
    this.logName = HeldName.hold(`${this.path}-wal`);
  }

  /** Nobody holds the sidecars open any more: the last connection that closes takes them along. */
  forgetSidecars(): void {
    this.sidecarsKnown = false;
    this.logName?.release();
    this.logName = null;
  }

  /** Gives back what it holds; the store is closed. */
  release(): void {
    this.forgetSidecars();
    this.mainName?.release();
    this.mainName = null;
  }

  /** Refuses unless the file that was opened first still stands at the path. */
  checkMain(): void {
    this.requireUnbroken();
    if (this.mainName?.stands() !== true) this.require(this.path, this.main);
  }

  /** Refuses unless the file and its log still stand there: what a commit needs to be found again. */
  checkCommitted(): void {
    this.checkMain();
    if (this.sidecarsKnown && this.logName?.stands() !== true) this.require(`${this.path}-wal`, this.log);
  }

  /** Refuses when anything was deleted or replaced, the shared memory too: with another one two writers would not see
   *  each other's locks. */
  checkAll(): void {
    this.checkCommitted();
    if (this.sidecarsKnown) this.require(`${this.path}-shm`, this.memory);
  }

  /** Looks at the shared memory between commits, where nobody waits for the answer: false when it is gone. */
  memoryStands(): boolean {
    try {
      this.requireUnbroken();
      if (this.sidecarsKnown) this.require(`${this.path}-shm`, this.memory);
      return true;
    } catch {
      return false; // remembered: whoever writes or reads next is told
    }
  }

  private require(path: string, expected: Inode): void {
    const found = inode(path);
    if (found !== null && found === expected) return;
    this.failure = new LedgerError(
      "STORE_DAMAGED",
      `${path} must be the file that was opened, found it ${found === null ? "deleted" : "replaced"}`,
      {
        details: { path, reason: "replaced" },
        hint: "stop writing; what was acknowledged is in the files that were removed",
      },
    );
    throw this.failure;
  }
}

function inode(path: string): Inode {
  return lstatSync(path, { throwIfNoEntry: false })?.ino ?? null;
}
