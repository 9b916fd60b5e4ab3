/** The pass over the entries with help: ranges are proved by workers, joined in order by the caller's thread, and the few
 *  rows between what they proved are looked at by that thread itself.
 *  Invariants: findings are made in one place and in the order of the journal, so a report does not tell how many worked
 *  on it; what does not join is nobody's to explain here: the caller starts over without help; proofs that wait are few. */
import { LedgerError } from "../kernel/errors.js";
import type { RawEntry } from "../journal/raw-reader.js";
import type { PassState } from "./pass.js";
import { joinStretch } from "./ranges-join.js";
import { makeRoom } from "./ranges.js";
import type { ProvedRange, RangeProof, RangeWorkers } from "./ranges.js";

/** Ranges that are proved or wait to be joined, for each worker. */
const rangesAhead = 3;

/** Rows that are looked at here are read in pages of at most so many. */
const rowsPerRead = 512;

/** What there is to do. */
export interface Journey {
  /** How many entries there are. */
  readonly size: number;
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

/** The pass that takes what is proved. */
export interface JoiningPass {
  readonly state: PassState;
  /** Checks rows in this thread. */
  readonly check: (rows: readonly RawEntry[]) => Promise<void>;
  /** Is told how many entries were checked without that. */
  readonly onJoined: (entries: number) => void;
}

export class RangePass {
  private readonly workers: RangeWorkers;
  private readonly journey: Journey;
  /** What is being proved, in the order of the entries; nothing is when whoever took it is gone. */
  private readonly proofs: Promise<RangeProof>[] = [];
  private readonly rooms: readonly SharedArrayBuffer[];
  private asked = 0;

  /** Asks for the first ranges at once. */
  constructor(workers: RangeWorkers, journey: Journey) {
    this.workers = workers;
    this.journey = journey;
    // One for each that is being proved, and one for that which is being joined.
    const rooms = Math.min(workers.count * rangesAhead, Math.ceil(journey.size / workers.rangeEntries)) + 1;
    this.rooms = Array.from({ length: rooms }, () => makeRoom(workers.rangeEntries));
    this.ask();
  }

  /** Checks all entries; false when they must be checked without help. */
  async run(pass: JoiningPass): Promise<boolean> {
    const { size, signal } = this.journey;
    const ended = new AbortController();
    const stopped = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(stoppedBy(signal)), { once: true, signal: ended.signal });
    });
    try {
      for (let to = 0; to < size;) {
        to = Math.min(to + this.workers.rangeEntries, size);
        if (signal?.aborted === true) throw stoppedBy(signal);
        const proof = await Promise.race([this.proofs.shift()!, stopped]);
        this.ask();
        if (!(await take(pass, proof, to))) return false;
      }
      return true;
    } catch (error) {
      if (error instanceof LedgerError && error.code !== "ABORTED") return false; // met again without help
      throw error;
    } finally {
      ended.abort();
    }
  }

  private ask(): void {
    const { workers, proofs, rooms } = this;
    const { size, now } = this.journey;
    while (this.asked * workers.rangeEntries < size && proofs.length < workers.count * rangesAhead) {
      const from = this.asked * workers.rangeEntries;
      const to = Math.min(from + workers.rangeEntries, size);
      const room = rooms[this.asked++ % rooms.length]!;
      proofs.push(workers.prove({ from, to, now, room }).catch(() => ({ stretches: null })));
    }
  }
}

/** Takes what was proved up to a position, and looks at the rest up to there. */
async function take(pass: JoiningPass, proof: RangeProof, to: number): Promise<boolean> {
  const { stretches } = proof as ProvedRange; // whoever proves does it with RangeProver
  if (stretches === null) return false;
  for (const stretch of stretches) {
    if (!(await lookAt(pass, stretch.from)) || !(await joinStretch(pass.state, stretch))) return false;
    pass.onJoined(stretch.count);
  }
  return lookAt(pass, to);
}

/** Checks the rows up to a position here; false unless there is one of each. */
async function lookAt({ state, check }: JoiningPass, to: number): Promise<boolean> {
  while (state.next < to) {
    const from = state.next;
    const count = Math.min(rowsPerRead, to - from);
    const rows = await state.parts.reader.entries(from === 0 ? null : from - 1, count);
    if (rows.length < count || rows.some(({ seq }, index) => seq !== from + index)) return false;
    await check(rows);
  }
  return state.next === to;
}

/** What is thrown when a verification is to stop. */
export function stoppedBy(signal: AbortSignal): LedgerError {
  return new LedgerError("ABORTED", "the verification was stopped", { cause: signal.reason });
}
