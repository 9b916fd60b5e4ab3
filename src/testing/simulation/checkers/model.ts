/** The reference model beside the journal: each tx, in order, must be what the model says of the call that it came from; whoever
 *  wrote nothing must have been told what the model says at some moment between the question and the answer. */
import { canonicalize } from "../../../kernel/canonical.js";
import { commandName } from "../../model/call.js";
import type { Foretold } from "../../model/ledger-model.js";
import { LedgerModel } from "../../model/ledger-model.js";
import { txsOf } from "../evidence.js";
import type { Attempt, Evidence, JournalEntry, Stretch } from "../evidence.js";
import { answerDiffers, eventsDiffer } from "../expect.js";

type Report = (checker: string, message: string, runId: string | null) => void;

/** Replays a run through the model. Its findings are of two checkers: `model`, and `listed` for what was listed meanwhile. */
export function checkModel(evidence: Evidence & { readonly stretches: readonly Stretch[] }, report: Report): void {
  new Replay(evidence, report).run();
}

class Replay {
  private readonly evidence: Evidence & { readonly stretches: readonly Stretch[] };
  private readonly report: Report;
  private readonly model = new LedgerModel();
  private readonly byMark: ReadonlyMap<string, Attempt>;
  private readonly explained = new Set<Attempt>();
  /** The first thing that is wrong with an attempt, as long as nothing explains it. */
  private readonly doubts = new Map<Attempt, string>();
  private failed = false;

  constructor(evidence: Evidence & { readonly stretches: readonly Stretch[] }, report: Report) {
    this.evidence = evidence;
    this.report = report;
    this.byMark = new Map(evidence.attempts.map((attempt) => [attempt.mark, attempt]));
  }

  run(): void {
    const { entries } = this.evidence;
    const ends = new Map(txsOf(entries).map((tx) => [tx[0]!.tx[0] + tx[0]!.tx[1] - 1, tx]));
    const firstOf = (position: number): number => entries[position]!.tx[0];
    for (let position = 0; position < entries.length && !this.failed; position++) {
      const [first, count] = entries[position]!.tx;
      if (position !== first + count - 1) continue;
      const tx = ends.get(position);
      if (tx !== undefined) this.write(tx, firstOf(position));
      if (!this.failed) this.listen(position);
    }
    // One that departed from the model departs from it ever after.
    if (this.failed) return;
    for (const [attempt, doubt] of this.doubts)
      if (!this.explained.has(attempt)) this.report("model", `${attempt.mark} ${doubt}`, null);
  }

  private write(tx: readonly JournalEntry[], first: number): void {
    const event = tx[0]!;
    const moments = this.momentsOfTx(tx, first);
    const mark = tx.find(({ corr }) => corr !== undefined)?.corr;
    const attempt = mark === undefined ? this.whoWasRefused(event, first, moments) : this.byMark.get(mark);
    if (attempt === undefined)
      return this.fail(`#${event.seq} must be of a call, found ${event.type} of nobody`, event);
    const tried = moments.map((at) => {
      const foretold = this.model.ask(attempt.call, at);
      return { foretold, others: eventsDiffer(tx, foretold, attempt.call.fence) };
    });
    const { foretold, others } = tried.find((each) => each.others === null) ?? tried[0]!;
    if (others !== null) return this.fail(`${attempt.mark} at #${event.seq} ${others}`, event);
    this.model.adopt(foretold);
    this.explained.add(attempt);
    const { told } = attempt;
    if (told === null || told.type === "failed") return;
    const wrong = answerDiffers(told, foretold);
    if (wrong !== null) this.fail(`${attempt.mark} at #${event.seq} ${wrong}`, event);
  }

  /** When a tx was decided: at its time. A refusal is recorded in a tx of its own, for which time goes on. */
  private momentsOfTx(tx: readonly JournalEntry[], first: number): readonly number[] {
    const { at } = tx[0]!;
    const isRefusal = tx.every(({ type, data }) => type === "fence.refused" || data["outcome"] === "refused");
    return isRefusal ? [at, this.evidence.entries[first - 1]!.at] : [at];
  }

  /** A refusal that left nothing but its record does not say whose it was. Of several that asked the same it is one that was
   *  answered so, or that heard nothing. */
  private whoWasRefused(event: JournalEntry, first: number, moments: readonly number[]): Attempt | undefined {
    const { key, generation, command } = event.data;
    const asked = this.evidence.attempts.filter(
      (attempt) =>
        !this.explained.has(attempt) &&
        attempt.from < first &&
        attempt.to >= event.seq &&
        attempt.call.fence?.key === key &&
        attempt.call.fence?.generation === generation &&
        attempt.call.wishes.some((wish) => commandName(wish) === command) &&
        attempt.told?.type !== "accepted" &&
        this.foretell(event, attempt, moments).length > 0,
    );
    const answered = asked.find((attempt) => {
      const { told } = attempt;
      return this.foretell(event, attempt, moments).some(
        (foretold) => told === null || told.type === "failed" || answerDiffers(told, foretold) === null,
      );
    });
    return answered ?? asked[0];
  }

  /** What becomes of a call at those of these moments at which it leaves this event. */
  private foretell(event: JournalEntry, { call }: Attempt, moments: readonly number[]): Foretold[] {
    return moments
      .map((at) => this.model.ask(call, at))
      .filter((foretold) => eventsDiffer([event], foretold, call.fence) === null);
  }

  /** Who wrote nothing may have been answered behind this entry. */
  private listen(position: number): void {
    for (const attempt of this.evidence.attempts) {
      const { told, from, to } = attempt;
      if (told === null || told.type === "failed" || from > position || to < position) continue;
      if (this.explained.has(attempt)) continue;
      const moments = this.momentsOf(attempt, position);
      const doubts = moments.map((at) => this.doubt(attempt, at));
      if (doubts.includes(null)) this.explained.add(attempt);
      else if (!this.doubts.has(attempt)) this.doubts.set(attempt, doubts[0]!);
    }
    for (const { position: at, items, by } of this.evidence.listings) {
      if (at !== position) continue;
      const wanted = this.model.list().map((item) => canonicalize(item));
      const found = items.map((item) => canonicalize(item));
      const index = wanted.findIndex((item, place) => item !== found[place]);
      if (index >= 0 || found.length !== wanted.length)
        this.report(
          "listed",
          `${by} at #${position} must list ${wanted[index] ?? "no more"}, found ${found[index] ?? found.at(-1)}`,
          null,
        );
    }
  }

  /** When it may have been decided: at once, or as late as its process can have believed it to be. */
  private momentsOf({ told, clock }: Attempt, position: number): readonly number[] {
    const { entries, stretches } = this.evidence;
    if (told?.type === "accepted" && told.count === 0 && told.position === position && told.at !== undefined)
      return [told.at];
    const { at } = entries[position]!;
    const stretch = stretches.find(({ to }) => to >= position);
    const passed = stretch === undefined ? 0 : Math.max(0, clock - stretch.lowestClock);
    return [at, Math.max(clock, at + passed)];
  }

  private doubt({ call, told }: Attempt, at: number): string | null {
    const foretold: Foretold = this.model.ask(call, at);
    const wrong = answerDiffers(told!, foretold);
    if (wrong !== null) return wrong;
    const [event] = foretold.events;
    return event === undefined ? null : `must write ${event.type} ${canonicalize(event.data)}, found nothing`;
  }

  private fail(message: string, { stream, fence }: JournalEntry): void {
    this.failed = true;
    const key = fence?.[0] ?? stream;
    this.report("model", message, key.startsWith("queue/") ? key.slice("queue/".length) : null);
  }
}
