/** Is the ledger file still the one that was opened? Case A13: files can be deleted or replaced under a running process,
 *  and SQLite goes on writing to what nobody can open any more.
 *  Invariants: nothing is acknowledged unless the file, its log and its shared memory still stand at their paths; once one
 *  was found gone the store writes and reads no more, because what was acknowledged may be gone with it. */
import { LedgerError } from "../../kernel/errors.js";
import { identify, sameFile } from "./location.js";
import type { Identity } from "./location.js";

export class FileGuard {
  private readonly path: string;
  private readonly main: Identity;
  private log: Identity | null = null;
  private memory: Identity | null = null;
  private failure: LedgerError | null = null;
  private sidecarsKnown = false;

  constructor(path: string, main: Identity) {
    this.path = path;
    this.main = main;
  }

  /** Refuses when something was found gone before; asks nothing. */
  requireUnbroken(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Refuses unless the file that was opened first still stands at the path. */
  checkMain(): void {
    this.requireUnbroken();
    if (!sameFile(identify(this.path), this.main)) throw this.replaced(this.path);
  }

  /** Remembers the sidecars: a connection holds them open from here on. */
  rememberSidecars(): void {
    this.log = identify(`${this.path}-wal`);
    this.memory = identify(`${this.path}-shm`);
    this.sidecarsKnown = true;
    this.check();
  }

  /** Nobody holds the sidecars open any more: the last connection that closes takes them along. */
  forgetSidecars(): void {
    this.sidecarsKnown = false;
  }

  /** Was something found deleted or replaced? */
  get failed(): boolean {
    return this.failure !== null;
  }

  /** Refuses when anything was deleted or replaced; three system calls. */
  check(): void {
    this.checkMain();
    if (!this.sidecarsKnown) return;
    if (!sameFile(identify(`${this.path}-wal`), this.log)) throw this.replaced(`${this.path}-wal`);
    if (!sameFile(identify(`${this.path}-shm`), this.memory)) throw this.replaced(`${this.path}-shm`);
  }

  private replaced(path: string): LedgerError {
    this.failure = new LedgerError(
      "STORE_DAMAGED",
      `${path} must be the file that was opened, found it deleted or replaced`,
      {
        details: { path, reason: "replaced" },
        hint: "stop writing; what was acknowledged is in the files that were removed",
      },
    );
    return this.failure;
  }
}
