/** The pass over the entries with help: ranges that lie ahead are proved by workers and joined in order by the caller's
 *  thread, which checks itself what lies between them.
 *  Invariants: findings are made in one place and in the order of the journal, so a report does not tell how many worked
 *  on it; what does not join is nobody's to explain here: the caller starts over without help; proofs that wait are few. */
import { LedgerError } from "../kernel/errors.js";
import type { RawEntry } from "../journal/raw-reader.js";
import type { PassState } from "./pass.js";
import { joinStretch } from "./ranges-join.js";
import { RangePlan } from "./ranges-plan.js";
import { makeRoom } from "./ranges.js";
import type { EntryRange, ProvedRange, RangeProof, RangeWorkers } from "./ranges.js";

/** Ranges that are proved or wait to be joined, for each worker. */
const roomsPerWorker = 4;
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

/** A range that a worker was asked for. */
interface AskedRange {
  readonly from: number;
  readonly to: number;
  readonly room: SharedArrayBuffer;
  /** Null when whoever took it is gone. */
  readonly proof: Promise<RangeProof | null>;
}

export class RangePass {
  private readonly workers: RangeWorkers;
  private readonly journey: Journey;
  private readonly plan: RangePlan;
  /** Those that are not joined, in the order of the entries. */
  private readonly asked: AskedRange[] = [];
  private readonly rooms: SharedArrayBuffer[];
  /** How many are being proved. */
  private proving = 0;
  /** The one that is waited for. */
  private awaited: AskedRange | undefined;
  private position = 0;
  /** Entries that were checked here. */
  private own = 0;

  /** Asks for the first ranges at once. */
  constructor(workers: RangeWorkers, journey: Journey) {
    const { count, rangeEntries, gapEntriesMax } = workers;
    this.workers = workers;
    this.journey = journey;
    this.plan = new RangePlan({ size: journey.size, rangeEntries, gapEntriesMax });
    this.rooms = Array.from({ length: count * roomsPerWorker }, () => makeRoom(rangeEntries));
    this.ask();
  }

  /** Checks all entries; false when they must be checked without help. */
  async run(pass: JoiningPass): Promise<boolean> {
    const { size, signal } = this.journey;
    const ended = new AbortController();
    const stopped = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(stoppedBy(signal)), { once: true, signal: ended.signal });
    });
    // Nobody waits for it while rows are looked at here: then the loop asks the signal.
    stopped.catch(() => {});
    try {
      while (this.position < size) {
        if (signal?.aborted === true) throw stoppedBy(signal);
        const [range] = this.asked;
        const here = range?.from === this.position;
        const went = here ? await this.join(pass, range, stopped) : await this.lookAtPage(pass, range?.from ?? size);
        if (!went) return false;
      }
      return true;
    } catch (error) {
      if (error instanceof LedgerError && error.code !== "ABORTED") return false; // met again without help
      throw error;
    } finally {
      ended.abort();
    }
  }

  /** Takes the range that comes now; looks at it here when nobody proved it. */
  private async join(pass: JoiningPass, range: AskedRange, stopped: Promise<never>): Promise<boolean> {
    this.awaited = range;
    const proof = await Promise.race([range.proof, stopped]);
    const went = proof === null ? await lookAt(pass, range.to) : await take(pass, proof, range.to);
    this.position = pass.state.next;
    this.asked.shift();
    this.rooms.push(range.room);
    this.ask();
    return went;
  }

  private async lookAtPage(pass: JoiningPass, until: number): Promise<boolean> {
    const from = this.position;
    const went = await lookAt(pass, Math.min(until, from + rowsPerRead - (from % rowsPerRead)));
    this.position = pass.state.next;
    this.own += this.position - from;
    return went;
  }

  private ask(): void {
    while (this.proving < this.workers.count && this.rooms.length > 0) {
      const ahead = this.asked.reduce((sum, { from, to }) => sum + to - from, 0);
      const next = this.plan.next(this.position, ahead);
      if (next === null) return;
      const room = this.rooms.pop()!;
      this.proving++;
      this.asked.push({ ...next, room, proof: this.prove({ ...next, now: this.journey.now, room }) });
    }
  }

  private async prove(range: EntryRange): Promise<RangeProof | null> {
    const before = this.own;
    try {
      const proof = await this.workers.prove(range);
      this.proving--;
      this.plan.learn(this.own - before, this.awaited?.from === range.from);
      this.ask();
      return proof;
    } catch {
      return null; // it counts as being proved for ever: nobody is asked again
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
