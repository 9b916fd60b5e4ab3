/** Claims and fences as the journal has them: was each claim legal, and each event under a fence written while its claim was
 *  live? Invariants: it goes by the entries and by what their types say of claims (`claim-facts.ts`), and by no reducer; the
 *  time of an event is never below that of an earlier one; all events of a call are under its one fence, so that a fence is
 *  never of a claim that its own tx took; behind a finding it goes on from what the event says, as whoever folds it does.
 *  Memory: that of `claim-table.ts`. Source: design sections 8 and 11, decisions 15.1, 15.9, 0022. */
import { claimFacts, keyOver, ownedThroughMembers, parseClaimTaken, parseExpiry } from "../journal/claim-facts.js";
import type { ClaimFact } from "../journal/claim-facts.js";
import type { EntryFields } from "../journal/entry.js";
import { fenceKind, fenceRefusedType } from "../journal/events/fence.js";
import { receiptType } from "../journal/events/receipt.js";
import { LedgerError, unreachable } from "../kernel/errors.js";
import { leaseMsMax } from "../kernel/limits.js";
import { areaOf, kindOf } from "../kernel/names.js";
import { ClaimTable } from "./claim-table.js";
import type { KeyState, Moment } from "./claim-table.js";
import { FenceRefusals } from "./fence-refusals.js";
import { counted } from "./figures.js";
import type { FindingCode, Findings } from "./findings.js";
import type { JournalEvents } from "./journal-events.js";
import { isJournalType } from "./types.js";

/** A row that was shown to be right by its bytes alone. */
export interface ProvedRow {
  readonly seq: number;
  readonly at: number;
  readonly entry: string;
}

/** How the text of an entry under a fence, or on a stream of refusals or of what is owned through another, shows it; others may
 *  show the same in their data. */
const fenceMember = '"fence":["';
const fenceStreamMember = `"stream":"${fenceKind}/`;
const telling: readonly string[] = [fenceMember, fenceStreamMember, ...ownedThroughMembers];

export class Claims {
  /** Claims that were taken. */
  taken = 0;
  /** Events under a fence. */
  fenced = 0;
  /** The claim key of the first finding. */
  suspect: string | null = null;
  private readonly findings: Findings;
  private readonly journal: JournalEvents;
  private readonly table = new ClaimTable();
  private readonly refusals = new FenceRefusals(this.table);
  private now = 0;
  /** The tx of the last entry that is a caller's, and the one fence of its events. */
  private readonly tx: { first: number; mark: string | null; mixed: boolean } = { first: -1, mark: null, mixed: false };

  constructor(findings: Findings, journal: JournalEvents) {
    this.findings = findings;
    this.journal = journal;
  }

  /** Is an entry of this type and text to be checked? Any other is to be passed. */
  concerns(type: string, text: string): boolean {
    return claimFacts.has(type) || telling.some((member) => text.includes(member));
  }

  /** Passes an entry that says nothing of claims; all of them come in order. `tx`: the first position of its tx. */
  pass({ seq, at, entry }: ProvedRow, type: string, tx: number): void {
    this.now = Math.max(this.now, at);
    const problem = this.refusals.checkBehind(seq, type, null) ?? this.noteMark(tx, type, null);
    if (problem !== null) this.report("E_FENCE", JSON.parse(entry) as EntryFields, problem); // it was checked
  }

  /** Checks an entry whose bytes and place are right. */
  check(fields: EntryFields): void {
    const { seq, stream, type, at, tx, fence, data } = fields;
    this.now = Math.max(this.now, at);
    const moment = {
      now: this.now,
      tx: tx[0],
      incarnation: this.journal.epochs?.incarnationOf(Math.max(1, seq)) ?? null,
    };
    this.report("E_FENCE", fields, this.refusals.checkBehind(seq, type, data));
    if (type === fenceRefusedType || kindOf(stream) === fenceKind)
      this.report("E_FENCE", fields, () => this.refusals.check(fields));
    else this.report("E_FENCE", fields, this.noteMark(tx[0], type, fence === undefined ? null : fence.join("\n")));

    const fact = claimFacts.get(type);
    if (fence !== undefined) {
      this.fenced++;
      const own = fact !== undefined && fence[0] === stream;
      const problem = this.table.refuse(fence, moment, { behind: !own, late: own && fact === "endedLate" });
      this.report(own ? "E_CLAIM" : "E_FENCE", fields, problem);
    }
    const over = keyOver(stream, type);
    if (over !== null && fence?.[0] !== over) this.report("E_FENCE", fields, this.refuseOther(over));
    if (fact !== undefined) this.report("E_CLAIM", fields, () => this.apply(fact, fields, moment));
  }

  /** What was checked, in words. */
  say(): string {
    const { taken, fenced, refusals } = this;
    if (taken + fenced + refusals.count === 0) return "";
    const refused = refusals.count === 0 ? "" : `, ${counted(refusals.count, "refusal")}`;
    return `${counted(taken, "claim")} legal, ${counted(fenced, "event")} under the live one${refused}`;
  }

  /** What is wrong with the fence of an event beside those of its tx: a call has one, or none. */
  private noteMark(first: number, type: string, mark: string | null): string | null {
    if (type === receiptType || isJournalType(type)) return mark === null ? null : `${type} is written without a fence`;
    const { tx } = this;
    if (tx.first !== first) {
      Object.assign(tx, { first, mark, mixed: false });
      return null;
    }
    if (tx.mixed || tx.mark === mark) return null;
    tx.mixed = true;
    return `events of the tx from #${first} are written under one fence, or all without`;
  }

  /** What is wrong with an event that is not under the fence of this key; null when nobody has a live claim of it. */
  private refuseOther(key: string): string | null {
    const standing = this.table.standing(key);
    if (standing === null || standing.expiresAt <= this.now) return null;
    return `it is written under the claim of ${key} of generation ${standing.generation}, which is live until ${standing.expiresAt}`;
  }

  /** Does to the claim of a stream what its event says; answers what is wrong with that, or null. */
  private apply(fact: ClaimFact, fields: EntryFields, moment: Moment): string | null {
    const { stream, type, tv, data, fence } = fields;
    if (kindOf(stream) !== areaOf(type)) return `events of area ${areaOf(type)} claim streams of that kind alone`;
    if (tv !== 1) return `the version of ${type} must be 1, found ${tv}`;
    const standing = this.table.standing(stream);
    const under = fence?.[0] === stream;
    const unfenced = under ? null : `${type} is written under the fence of ${stream}`;
    switch (fact) {
      case "begun": {
        if (standing !== null) standing.endedIn = moment.tx; // whoever folds it forgets the claim
        const taking = data["claim"] === undefined ? null : this.take(fields, null, moment);
        if (standing === null) return taking;
        return `${stream} begins while its claim of generation ${standing.generation} stands`;
      }
      case "taken":
        return this.take(fields, standing, moment);
      case "renewed": {
        const renewing = this.renew(fields, standing);
        return unfenced ?? renewing;
      }
      case "ended":
      case "endedLate":
        if (standing !== null) standing.endedIn = moment.tx;
        return unfenced;
      case "endedWhenExpired":
        if (standing !== null) standing.endedIn = moment.tx;
        if (under) return null; // its fence was checked
        if (standing === null) return `${type} ends the claim of ${stream}, which has none`;
        return isLive(standing, moment) ? `${type} ends a live claim without its fence` : null;
      case "endedUnlessLive":
        if (standing !== null && !isLive(standing, moment)) standing.endedIn = moment.tx;
        return null;
      case "closed":
        if (standing !== null) standing.endedIn = moment.tx;
        return standing !== null && isLive(standing, moment) ? `${type} ends a live claim of ${stream}` : null;
      default:
        return unreachable(fact);
    }
  }

  private take({ stream, at, data }: EntryFields, standing: KeyState | null, moment: Moment): string | null {
    this.taken++;
    const claim = parseClaimTaken(data["claim"], "data.claim");
    const { generation, superseded, expiresAt } = claim;
    const last = this.table.get(stream)?.generation ?? 0;
    const before = standing?.generation ?? null;
    const live = standing !== null && isLive(standing, moment) ? standing.expiresAt : null;
    this.table.take(stream, claim);
    if (live !== null) return `${stream} is claimed while its claim of generation ${before} is live until ${live}`;
    if (generation !== last + 1) return `the generation of ${stream} must be ${last + 1}, found ${generation}`;
    if (superseded !== before)
      return `the claim of ${stream} takes over ${before ?? "nobody's"}, found ${superseded ?? "nobody's"}`;
    return refuseLease(at, expiresAt);
  }

  private renew({ at, data }: EntryFields, standing: KeyState | null): string | null {
    const expiresAt = parseExpiry(data["expiresAt"], "data.expiresAt");
    if (standing === null) return null; // its fence was checked
    const before = standing.expiresAt;
    standing.expiresAt = expiresAt;
    if (expiresAt <= before) return `a renewal must be until later than ${before}, found ${expiresAt}`;
    return refuseLease(at, expiresAt);
  }

  private report(code: FindingCode, fields: EntryFields, problem: string | null | (() => string | null)): void {
    const message = typeof problem === "function" ? attempt(problem) : problem;
    if (message === null) return;
    const { seq: position, stream, rev: revision, fence } = fields;
    this.suspect ??= fence?.[0] ?? (kindOf(stream) === fenceKind ? stream.slice(fenceKind.length + 1) : stream);
    this.findings.add(code, { position, stream, revision, message });
  }
}

function isLive({ expiresAt }: KeyState, { now }: Moment): boolean {
  return expiresAt > now;
}

function refuseLease(at: number, expiresAt: number): string | null {
  const leaseMs = expiresAt - at;
  if (leaseMs >= 1 && leaseMs <= leaseMsMax) return null;
  return `a claim is for 1 to ${leaseMsMax} ms, found ${leaseMs}`;
}

/** What is wrong, also where that is thrown by who reads the data. */
function attempt(problem: () => string | null): string | null {
  try {
    return problem();
  } catch (error) {
    if (error instanceof LedgerError) return error.message;
    throw error;
  }
}
