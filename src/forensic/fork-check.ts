/** Are two ledgers the same journal, one of them ahead of the other, or did one journal become two? And if so, who signed for
 *  both?
 *  Invariant: entries are compared by ids that are computed from their bytes; what the stores say of themselves is not asked. */
import { incarnationOf } from "../journal/checkpoint.js";
import { parseVerifierKeys } from "../journal/note.js";
import type { VerifierKey } from "../journal/note-keys.js";
import type { RawReader } from "../journal/raw-reader.js";
import { LedgerError } from "../kernel/errors.js";
import { checkMembers, checkSignal } from "../kernel/members.js";
import { checkReader } from "./options.js";
import { findEquivocation } from "./equivocation.js";
import type { Equivocation } from "./equivocation.js";
import { IdWalk } from "./id-walk.js";
import { readCheckpoint, signersOf, storedCheckpoints } from "./noted-checkpoint.js";
import type { NotedCheckpoint } from "./noted-checkpoint.js";

/** Under which keys to compare, and when to give up. @public */
export interface ForkCheckOptions {
  /** Verifier keys that are trusted: what proves that somebody signed for both is then verified under them. */
  readonly keys?: readonly string[];
  /** Stops it (`ABORTED`). */
  readonly signal?: AbortSignal;
}

/** `SAME`: the same entries; `PREFIX`: the one is where the other begins; `FORKED`: they begin as one and go on differently;
 *  `UNRELATED`: two journals; `UNDECIDED`: the entries that would tell are missing, or cannot be read. @public */
export type ForkVerdict = "SAME" | "PREFIX" | "FORKED" | "UNRELATED" | "UNDECIDED";

/** One of the two that were compared. @public */
export interface ForkSide {
  /** Where it was read; null for a checkpoint. */
  readonly location: string | null;
  readonly origin: string | null;
  readonly size: number;
  /** The id of the last entry; null for a checkpoint, and for no entries. */
  readonly head: string | null;
  /** The root of all its entries, in hex. */
  readonly root: string;
}

/** What `forkCheck` found. @public */
export interface ForkReport {
  readonly verdict: ForkVerdict;
  /** A sentence: why. */
  readonly reason: string;
  readonly a: ForkSide;
  readonly b: ForkSide;
  /** The last entry that both have; null when there is none, or when it is not known. */
  readonly common: { readonly position: number; readonly id: string } | null;
  readonly equivocation: Equivocation | null;
  /** 0: the same, or one is where the other begins; 1: forked; 3: two journals, or it cannot be decided. */
  readonly exitCode: 0 | 1 | 3;
}

/** Compares two ledgers, or a ledger and a checkpoint of another one. Reads both once, from the start. @public */
export async function forkCheck(
  a: RawReader,
  b: RawReader | string,
  options: ForkCheckOptions = {},
): Promise<ForkReport> {
  checkMembers(options, "options", ["keys", "signal"]);
  const { keys: given = [], signal } = options;
  const keys = parseVerifierKeys(given, "options.keys");
  checkSignal(signal, "options.signal");
  checkReader(a, "a");
  if (typeof b !== "string") checkReader(b, "b");
  return typeof b === "string"
    ? compareWithCheckpoint(a, readCheckpoint(b), keys, signal)
    : compareLedgers(a, b, keys, signal);
}

async function compareLedgers(
  a: RawReader,
  b: RawReader,
  keys: readonly VerifierKey[],
  signal: AbortSignal | undefined,
): Promise<ForkReport> {
  const [left, right] = [new IdWalk(a, new Float64Array()), new IdWalk(b, new Float64Array())];
  const { common, fork } = await walkTogether(left, right, signal);
  await drain(left, signal);
  await drain(right, signal);
  const [verdict, reason] = judge(left, right, fork);
  return conclude(verdict, reason, {
    a: sideOf(a, left),
    b: sideOf(b, right),
    common,
    equivocation: await findEquivocation(a, storedCheckpoints(b), keys),
  });
}

interface Fork {
  readonly position: number;
  readonly a: string;
  readonly b: string;
}

/** Goes on as long as both have the same entries. */
async function walkTogether(
  left: IdWalk,
  right: IdWalk,
  signal: AbortSignal | undefined,
): Promise<{ readonly common: ForkReport["common"]; readonly fork: Fork | null }> {
  let common: ForkReport["common"] = null;
  let [mine, other]: [readonly string[], readonly string[]] = [[], []];
  for (let position = 0; ;) {
    stopWhenAborted(signal);
    if (mine.length === 0) mine = await left.page();
    if (other.length === 0) other = await right.page();
    const both = Math.min(mine.length, other.length);
    if (both === 0) return { common, fork: null };
    for (let index = 0; index < both; index++, position++) {
      const [one, two] = [mine[index]!, other[index]!];
      if (one !== two) return { common, fork: { position, a: one, b: two } };
      common = { position, id: one };
    }
    [mine, other] = [mine.slice(both), other.slice(both)];
  }
}

async function drain(walk: IdWalk, signal: AbortSignal | undefined): Promise<void> {
  do stopWhenAborted(signal);
  while ((await walk.page()).length > 0);
}

function judge(a: IdWalk, b: IdWalk, fork: Fork | null): readonly [ForkVerdict, string] {
  for (const [name, { size, origin, problem }] of [
    ["a", a],
    ["b", b],
  ] as const) {
    if (size === 0)
      return ["UNDECIDED", `${name} has no entries that can be read${problem === null ? "" : `: ${problem}`}`];
    if (origin === null) return ["UNDECIDED", `the first entry of ${name} does not open a journal`];
  }
  if (a.origin !== b.origin) return ["UNRELATED", `a is ${a.origin}, b is ${b.origin}`];
  if (fork !== null) return ["FORKED", `#${fork.position} is ${fork.a} in a and ${fork.b} in b`];
  if (a.problem !== null) return ["UNDECIDED", `a cannot be read behind #${a.size - 1}: ${a.problem}`];
  if (b.problem !== null) return ["UNDECIDED", `b cannot be read behind #${b.size - 1}: ${b.problem}`];
  if (a.size === b.size) return ["SAME", "both have the same entries"];
  return a.size > b.size
    ? ["PREFIX", `b is where a begins: a has ${a.size - b.size} more`]
    : ["PREFIX", `a is where b begins: b has ${b.size - a.size} more`];
}

async function compareWithCheckpoint(
  a: RawReader,
  checkpoint: NotedCheckpoint,
  keys: readonly VerifierKey[],
  signal: AbortSignal | undefined,
): Promise<ForkReport> {
  const { origin: line, size, root } = checkpoint;
  const walk = new IdWalk(a, Float64Array.of(size));
  let last: string | null = null;
  for (let position = 0; ;) {
    stopWhenAborted(signal);
    const ids = await walk.page();
    if (ids.length === 0) break;
    last = ids[size - 1 - position] ?? last;
    position += ids.length;
  }
  const found = walk.roots().rootAt(size)?.root ?? null;
  const { signers, wrong } = signersOf(checkpoint, keys);
  const verdict = ((): readonly [ForkVerdict, string] => {
    if (wrong !== null) return ["UNDECIDED", `the checkpoint's signature of ${wrong.name}+${wrong.id} is wrong`];
    if (keys.length > 0 && signers.length === 0)
      return ["UNDECIDED", "the checkpoint is signed by none of the given keys"];
    if (walk.size === 0 || walk.origin === null) return ["UNDECIDED", "the first entry of a does not open a journal"];
    if (incarnationOf(line, walk.origin) === null)
      return ["UNRELATED", `a is ${walk.origin}, the checkpoint is of ${line}`];
    if (size === 0) return ["UNDECIDED", "a checkpoint of no entries says nothing"];
    if (found === null)
      return ["UNDECIDED", `a has ${walk.size} entries that can be read, too few for a checkpoint of ${size}`];
    if (found !== root) return ["FORKED", `the first ${size} entries have the root ${found} in a and ${root} in b`];
    return [walk.size === size && walk.problem === null ? "SAME" : "PREFIX", "b is where a begins"];
  })();
  const fits = verdict[0] === "SAME" || verdict[0] === "PREFIX";
  return conclude(...verdict, {
    a: sideOf(a, walk),
    b: { location: null, origin: line, size, head: null, root },
    common: fits && last !== null ? { position: size - 1, id: last } : null,
    equivocation: await findEquivocation(a, only(checkpoint), keys),
  });
}

function conclude(
  verdict: ForkVerdict,
  reason: string,
  found: Pick<ForkReport, "a" | "b" | "common" | "equivocation">,
): ForkReport {
  const isPrefix = verdict === "SAME" || verdict === "PREFIX";
  return { verdict, reason, ...found, exitCode: isPrefix ? 0 : verdict === "FORKED" ? 1 : 3 };
}

function sideOf({ location }: RawReader, walk: IdWalk): ForkSide {
  const { origin, size, head } = walk;
  return { location, origin, size, head, root: walk.roots().root() };
}

function stopWhenAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new LedgerError("ABORTED", "the comparison was stopped", { cause: signal.reason });
}

async function* only(checkpoint: NotedCheckpoint): AsyncGenerator<NotedCheckpoint, void, undefined> {
  yield checkpoint;
}
