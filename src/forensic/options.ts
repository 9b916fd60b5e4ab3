/** What a verification is asked to do. */
import { builtInProjections } from "../../projections/built-in.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { DefinedAreas } from "../../projections/event-of.js";
import type { EventDefinitions } from "../journal/define-events.js";
import { parseVerifierKeys } from "../journal/note.js";
import type { VerifierKey } from "../journal/note-keys.js";
import type { RawReader } from "../journal/raw-reader.js";
import { parseTime } from "../kernel/clock.js";
import { invalid } from "../kernel/errors.js";
import { checkBoolean, checkMembers, checkSignal, isList, parseInteger } from "../kernel/members.js";
import type { StartRangeWorkers } from "./ranges.js";
import type { VerifyLevel } from "./report.js";

/** How far a verification is. @public */
export interface VerifyProgress {
  readonly phase: "entries" | "contents";
  readonly done: number;
  readonly total: number;
}

/** How much to check, and against what. @public */
export interface VerifyOptions {
  /** Default `full`. */
  readonly level?: VerifyLevel;
  /** Level `deep`: the projections whose tables are to be compared, beside those of this package. A table of any other is
   *  listed as not checked. */
  readonly projections?: readonly AnyProjection[];
  /** Level `deep`: the definitions of the events that they fold, for upcasting. */
  readonly events?: readonly EventDefinitions[];
  /** Checkpoints that were kept outside the ledger, signed notes or their three lines alone. They alone show that its tail
   *  was not cut, and that it was not written anew as a whole. Level `quick` looks at their size and signatures only. */
  readonly from?: string | readonly string[];
  /** Verifier keys, from where you trust; never from the ledger. With keys, a checkpoint counts that one of them signed, and
   *  no other: none is `UNDECIDED`. */
  readonly keys?: readonly string[];
  /** Is a journal that no checkpoint from outside vouches for `UNANCHORED`? Default false. */
  readonly requireAnchor?: boolean;
  /** Hash the files that are read. Default true, and false for a ledger that is open: its files go on changing. */
  readonly evidence?: boolean;
  readonly onProgress?: (progress: VerifyProgress) => void;
  /** Stops the verification (`ABORTED`). */
  readonly signal?: AbortSignal;
  /** How many findings are listed; the rest is counted. Default 100. */
  readonly findingsMax?: number;
  /** The time of the host, ms since the epoch: entries ahead of it are a warning, and the report tells how old the head is.
   *  Without it neither is said. */
  readonly now?: number;
  /** Starts those who prove ranges of the entries beside this thread, as `verifyWorkers` does. The report is the same. Level
   *  `full` alone, and not where a private copy is read. Default: nobody. */
  readonly workers?: StartRangeWorkers;
}

/** Options that were checked, with their defaults. */
export interface Settings {
  readonly level: VerifyLevel;
  readonly projections: readonly AnyProjection[];
  readonly areas: DefinedAreas;
  readonly from: readonly string[];
  readonly keys: readonly VerifierKey[];
  readonly requireAnchor: boolean;
  readonly evidence: boolean;
  readonly onProgress: ((progress: VerifyProgress) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly findingsMax: number;
  readonly now: number | null;
  readonly workers: StartRangeWorkers | null;
}

export const verifyOptionNames: readonly string[] = [
  "level",
  "projections",
  "events",
  "from",
  "keys",
  "requireAnchor",
  "evidence",
  "onProgress",
  "signal",
  "findingsMax",
  "now",
  "workers",
];
const findingsMaxDefault = 100;

export function parseVerifyOptions(options: VerifyOptions): Settings {
  checkMembers(options, "options", verifyOptionNames);
  const {
    level = "full",
    projections = [],
    events = [],
    from = [],
    keys = [],
    requireAnchor,
    evidence,
    onProgress,
    signal,
    findingsMax = findingsMaxDefault,
    now,
    workers = null,
  } = options;
  if (level !== "quick" && level !== "full" && level !== "deep")
    throw invalid("options.level", '"quick", "full" or "deep"', level);
  checkBoolean(evidence, "options.evidence");
  checkBoolean(requireAnchor, "options.requireAnchor");
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw invalid("options.onProgress", "a function", onProgress);
  checkSignal(signal, "options.signal");
  if (workers !== null && typeof workers !== "function")
    throw invalid("options.workers", "a function that starts workers", workers);
  return {
    level,
    projections: parseProjections(projections),
    areas: parseAreas(events),
    from: parseNotes(from),
    keys: parseVerifierKeys(keys, "options.keys"),
    requireAnchor: requireAnchor ?? false,
    evidence: evidence ?? true,
    onProgress,
    signal,
    findingsMax: parseInteger(findingsMax, "options.findingsMax", 1, 1_000_000),
    now: now === undefined ? null : parseTime(now, "options.now"),
    workers,
  };
}

function parseProjections(projections: readonly AnyProjection[]): readonly AnyProjection[] {
  const path = "options.projections";
  if (!isList(projections)) throw invalid(path, "a list of projections made by defineProjection", projections);
  const names = new Set(builtInProjections.map(({ name }) => name));
  const known = new Set<string>();
  for (const projection of projections) {
    if (!(projection?.on instanceof Map)) throw invalid(path, "projections made by defineProjection", projection);
    const { name, version } = projection;
    if (names.has(name)) throw invalid(path, "a name that this package does not use itself", name);
    if (known.has(`${name}@${version}`)) throw invalid(path, "one of each name and version", `${name}@${version}`);
    known.add(`${name}@${version}`);
  }
  return [...projections];
}

function parseAreas(events: readonly EventDefinitions[]): DefinedAreas {
  const path = "options.events";
  if (!isList(events)) throw invalid(path, "a list of definitions made by defineEvents", events);
  const areas = new Map<string, EventDefinitions>();
  for (const definitions of events) {
    if (!(definitions?.events instanceof Map)) throw invalid(path, "definitions made by defineEvents", definitions);
    if (areas.has(definitions.area)) throw invalid(path, "one definition an area", definitions.area);
    areas.set(definitions.area, definitions);
  }
  return areas;
}

function parseNotes(from: string | readonly string[]): readonly string[] {
  const notes: unknown = typeof from === "string" ? [from] : from;
  if (!isList(notes)) throw invalid("options.from", "a checkpoint, or a list of them", from);
  return Array.from(notes, (note: unknown, index) => {
    if (typeof note !== "string") throw invalid(`options.from[${index}]`, "the text of a checkpoint", note);
    return note;
  });
}

/** Refuses what does not read stored rows: above all a path, which `openRawReader` opens. */
export function checkReader(value: unknown, path: string): void {
  const { entries, evidence } = (typeof value === "object" && value !== null ? value : {}) as Partial<RawReader>;
  if (typeof entries !== "function" || typeof evidence !== "function")
    throw invalid(path, "a raw reader, as openRawReader opens it", value);
}
