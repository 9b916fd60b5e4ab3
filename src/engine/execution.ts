/** The public shapes of executing commands. */
import type { ContentReference, ContentValue } from "../journal/content.js";
import type { AppendLabels, AppendResult, StreamRequirement } from "./types.js";

/** Under which conditions to execute, and what is said of it. @public */
export interface ExecuteOptions extends AppendLabels {
  /** Makes it safe to send again: with the same id and the same client, the same command is executed once. */
  readonly id?: string;
  /** Whose id that is: a letter, then letters, digits, `_`, `.` or `-`. Default `"default"`. */
  readonly client?: string;
  /** Streams that must be as said, checked in the same commit. */
  readonly require?: readonly StreamRequirement[];
  /** Gives it up while it still waits: in the queue, or for the table of a projection that it reads (`ABORTED`). */
  readonly signal?: AbortSignal;
}

/** A result as it comes back: contents as references to them. @public */
export type Told<Result> = Result extends ContentValue
  ? ContentReference
  : Result extends object
    ? { readonly [Member in keyof Result]: Told<Result[Member]> }
    : Result;

/** What an execution became. It is on disk. Where nothing was written, `count` is 0, `position` that of the head at which it
 *  was decided, `first` the one behind, and `revision` 0. @public */
export interface Executed extends AppendResult {
  /** Is it the answer of an earlier execution with the same id? */
  readonly adopted: boolean;
  /** That of an adopted one when its salt was erased with a content that it recorded: then the id alone decides, and nobody
   *  knows any more whether the command was the same. */
  readonly fingerprint?: "erased";
}

/** What an executed command became. @public */
export interface ExecuteResult<Result = unknown> extends Executed {
  /** What the command accepted with. */
  readonly result: Told<Result>;
}

/** What an executed list of commands became. @public */
export interface ExecuteListResult<Results extends readonly unknown[] = readonly unknown[]> extends Executed {
  /** What each command accepted with, in order. */
  readonly results: { readonly [Index in keyof Results]: Told<Results[Index]> };
}
