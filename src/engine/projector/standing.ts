/** How the tables of this program stand at one moment, as the writer knows it. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import type { ProjectionFailure } from "../../../projections/failure.js";
import { LedgerError } from "../../kernel/errors.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { Table } from "./catalogue.js";

/** `following`: what is stored, and what its batch changed, is the fold of everything up to the head. `behind`: it waits for
 *  its first use. `stopped`: before an event that could not be folded; `failure` is what its row is to say, null when the trouble
 *  is this program's alone. `refused`: what is stored under its name and version is something else. */
export type Standing =
  | { readonly type: "following" }
  | { readonly type: "behind" }
  | StoppedStanding
  | { readonly type: "refused"; readonly error: Error };

export interface StoppedStanding {
  readonly type: "stopped";
  readonly position: number;
  readonly error: Error;
  readonly failure: ProjectionFailure | null;
}

export const following: Standing = { type: "following" };
export const behind: Standing = { type: "behind" };

/** What the writer knows of tables between two batches. */
export interface TablesState {
  /** The last entry that is dealt with. */
  readonly head: { readonly seq: number; readonly id: string };
  /** As it was stored when it was read or written last; it lists all tables that follow. */
  readonly mark: FoldedMark | null;
  /** The rows of own tables, as they were then. */
  readonly rows: ReadonlyMap<Table, ProjectionRow>;
  readonly standings: ReadonlyMap<Table, Standing>;
}

/** Throws what keeps a table from being read. */
export function requireFollowing({ projection }: Table, standing: Standing | undefined): void {
  if (standing?.type === "following") return;
  throw standing?.type === "stopped" || standing?.type === "refused" ? standing.error : notReady(projection);
}

/** Where a table stands, and what it is to be brought up to. */
export interface Progress {
  readonly position: number;
  readonly head: number;
}

/** The refusal of a table that has not been brought up to the head. */
export function notReady(
  { name, version }: AnyProjection,
  hint = "try it again: its table is brought up before its first use",
  progress: Progress | null = null,
): LedgerError {
  const found = progress === null ? "behind" : `at ${progress.position} of ${progress.head}`;
  return new LedgerError(
    "NOT_READY",
    `projection ${name} (version ${version}) must be folded up to the head, found it ${found}`,
    { details: { projection: name, version, ...progress }, hint },
  );
}
