import type { CommandDefinition } from "../commands/define-command.js";
import type { FaultSeam } from "../journal/store.js";

/** Seams for tests. @public */
export interface TestingSeams {
  /** Replaces the source of randomness (salts, nonces, names). */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** Is called before and after each durable step of the store; may throw or end the process. */
  readonly faults?: FaultSeam;
  /** Replaces the probe of the file system's kind. */
  readonly filesystemKind?: (path: string) => string;
  /** Stand in for the ledger's own commands. */
  readonly ownCommands?: readonly CommandDefinition[];
}
