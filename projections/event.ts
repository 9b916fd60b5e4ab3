import type { FenceMark } from "../src/journal/entry.js";

/** An event as a reducer sees it, frozen: facts alone, upcast to the version that this program writes. It has no `meta`, and
 *  neither id nor `tx`: while an `execute` list is decided they are not known yet, and its later commands see the
 *  documents as its earlier ones left them. @public */
export interface ProjectionEvent<Data extends object = EventData> {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly version: number;
  readonly data: Data;
  /** Engine time, ms since the epoch. */
  readonly at: number;
  readonly actor?: string;
  /** Id of the command that it came from. */
  readonly command?: string;
  /** Id of the event of an earlier append that caused it. */
  readonly cause?: string;
  readonly correlation?: string;
  readonly fence?: FenceMark;
}

/** The facts of an event. What they are is said by the event's definition, whose `parse` has seen them. @public */
export interface EventData {
  // oxlint-disable-next-line typescript/no-explicit-any -- a reducer knows what its area's `parse` let through
  readonly [member: string]: any;
}
