/** A call of `execute` that waits for the write lock: a command, or a list of them that is one tx.
 *  Invariants: what refuses it, or is thrown by its code, is its caller's alone and leaves nothing in the batch; decided again,
 *  it mints the same things. */
import { canonicalText } from "../kernel/canonical.js";
import { systemClock } from "../kernel/clock.js";
import type { FenceProof, FenceReason } from "../kernel/claim.js";
import { LedgerError } from "../kernel/errors.js";
import { resultBytesMax } from "../kernel/limits.js";
import type { JsonObject } from "../kernel/canonical.js";
import { commandContext } from "../commands/context.js";
import { parseAnswer } from "../commands/answer.js";
import type { CommandAnswer, Refused } from "../commands/answer.js";
import { Mint } from "../commands/mint.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { Batch } from "./batch.js";
import { foreseeReads, readAll } from "./command-reads.js";
import type { FoundAll } from "./command-reads.js";
import { prepareCommandEvents } from "./command-events.js";
import type { CommandPreparing } from "./command-events.js";
import { resultText, tooLarge } from "./command-result.js";
import type { Executed } from "./execution.js";
import { foreseeFence, recordRefusal, refusalOfFence } from "./fences.js";
import type { FenceGround } from "./fences.js";
import type { Foreseen } from "./foreseen.js";
import { onceKnown } from "./once-known.js";
import { placeEvents } from "./place-events.js";
import type { PreparedCall, PreparedCommand } from "./prepare-commands.js";
import { needsOfEvents } from "./prepare.js";
import type { PreparedEvent } from "./prepare-event.js";
import type { Decided, Queued, Settle, Staged } from "./queue.js";
import { ofStoreIfAny, StoreFailure } from "./store-failure.js";
import type { Tx, Written } from "./tx.js";

/** What a call was answered: by each of its commands the canonical text of its result, or undefined. */
export interface AcceptedCall {
  readonly type: "accepted";
  readonly results: readonly (string | undefined)[];
}

/** Why a call was refused. */
export interface RefusedCall {
  readonly type: "refused";
  readonly code: string;
  readonly details: JsonObject;
  readonly message: string;
  readonly transient: boolean;
  /** Which command of a list it was. */
  readonly index: number | null;
  /** The fence was not accepted: for which command, and why. */
  readonly fenced?: { readonly command: string; readonly reason: FenceReason };
}

/** What a call with an id needs around its deciding. */
export interface CallReceipt {
  /** Says what of the journal it will need. */
  foresee(foreseen: Foreseen): void;
  /** Under the lock, before anything is decided: what this call is answered because of the first one with its id; null when
   *  this is the first. What it throws refuses the call, but for a `StoreFailure`. */
  find(
    batch: Batch,
    unready: AnyProjection[],
  ): Promise<{ readonly answer: CallAnswer } | { readonly error: LedgerError } | null>;
  /** The event that says what became of it: the last of its tx, or a refusal's only one. */
  event(outcome: AcceptedCall | RefusedCall, mint: Mint): PreparedEvent;
}

/** What the caller is told, before it is known whether it asked for one or a list. */
export interface CallAnswer extends Executed {
  readonly results: readonly unknown[];
}

/** What a call is decided with. */
export interface Deciding extends CommandPreparing {
  /** Is given the projections that refused it because their tables are behind. */
  readonly unready: AnyProjection[];
}

export class QueuedCommands implements Queued {
  readonly alone = false;
  readonly submittedAt: number = systemClock.monotonic();
  private readonly call: PreparedCall;
  private readonly deciding: Deciding;
  private readonly receipt: CallReceipt | null;
  private readonly settle: Settle<CallAnswer>;

  constructor(call: PreparedCall, deciding: Deciding, receipt: CallReceipt | null, settle: Settle<CallAnswer>) {
    this.call = call;
    this.deciding = deciding;
    this.receipt = receipt;
    this.settle = settle;
  }

  get signal(): AbortSignal | undefined {
    return this.call.signal;
  }

  get weight(): number {
    return this.call.weight;
  }

  get touched(): readonly string[] {
    return this.call.touched;
  }

  foresee(foreseen: Foreseen): void {
    foreseen.need(this.call);
    this.receipt?.foresee(foreseen);
    if (this.call.fence !== null) foreseeFence(this.call.fence, foreseen);
    for (const [index, command] of this.call.commands.entries()) {
      const found = foreseeReads(command, foreseen);
      if (found !== null && this.weight <= foreseenWeightMax) this.foreseeDecision(command, index, found, foreseen);
    }
  }

  decide(batch: Batch): Promise<Decided> | Decided {
    try {
      const outcome = this.outcome(batch);
      return outcome instanceof Promise ? outcome.catch(refusedWith) : outcome;
    } catch (error) {
      return refusedWith(error);
    }
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }

  /** Decides a command as if it were alone, to see which streams and documents its events would need. */
  private foreseeDecision(command: PreparedCommand, index: number, found: FoundAll["found"], foreseen: Foreseen): void {
    try {
      const mint = new Mint(this.call.seed, index);
      const answer = this.ask(command, { found, salts: new Map() }, mint, foreseen, foreseen);
      if (answer.type === "refused") return;
      const events = prepareCommandEvents(command, answer.events, this.deciding, this.call.labels, mint);
      foreseen.need(needsOfEvents(events));
      foreseen.events.push(...events);
      if (foreseen.choices.length === 0 || !foreseen.isChoice(command.definition, events)) return;
      foreseeOthers(events, foreseen);
    } catch {
      // It is told when it is decided.
    }
  }

  private outcome(batch: Batch): Promise<Decided> | Decided {
    if (this.receipt === null) return this.decideFirst(batch);
    return onceKnown(this.receipt.find(batch, this.deciding.unready), (first) => {
      if (first === null) return this.decideFirst(batch);
      // Told after the commit, for the first call may be in this batch; what happens to it happens to this one.
      if ("error" in first) return { staged: { count: 0, answer: () => this.settle.reject(first.error) } };
      return { staged: this.answering(first.answer, 0) };
    });
  }

  private decideFirst(batch: Batch): Promise<Decided> | Decided {
    const tx = batch.open();
    return onceKnown(this.run(batch, tx), (outcome) => {
      if (outcome.type === "refused") return this.refuse(batch, outcome);
      if (this.receipt === null) return { staged: this.accept(batch, tx, outcome) };
      return onceKnown(this.record(batch, tx, this.receipt, outcome), () => ({
        staged: this.accept(batch, tx, outcome),
      }));
    });
  }

  private run(batch: Batch, tx: Tx): Promise<AcceptedCall | RefusedCall> | AcceptedCall | RefusedCall {
    return onceKnown(ofStoreIfAny(batch.known.load(this.call)), () => this.decideFrom(0, [], batch, tx));
  }

  /** Decides one command after the other, each on what the ones before it left. */
  private decideFrom(
    start: number,
    results: (string | undefined)[],
    batch: Batch,
    tx: Tx,
  ): Promise<AcceptedCall | RefusedCall> | AcceptedCall | RefusedCall {
    const { commands } = this.call;
    for (let index = start; index < commands.length; index++) {
      const refused = this.decideOne(commands[index]!, index, results, batch, tx);
      if (refused instanceof Promise)
        return refused.then((found) => found ?? this.decideFrom(index + 1, results, batch, tx));
      if (refused !== null) return refused;
    }
    let bytes = 0;
    for (const text of results) if (text !== undefined) bytes += Buffer.byteLength(text);
    if (bytes > resultBytesMax) throw tooLarge(this.call.isList ? "results" : "result", bytes);
    return { type: "accepted", results };
  }

  /** Decides one command and adds what it does to the tx; null when it was accepted. */
  private decideOne(
    command: PreparedCommand,
    index: number,
    results: (string | undefined)[],
    batch: Batch,
    tx: Tx,
  ): Promise<RefusedCall | null> | RefusedCall | null {
    const { fence } = this.call;
    const { unready } = this.deciding;
    const fenced = fence === null ? null : this.checkFence(fence, command, index, { batch, tx, unready });
    return onceKnown(fenced, (refused) => refused ?? this.decideFenced(command, index, results, batch, tx));
  }

  /** The same behind its fence. */
  private decideFenced(
    command: PreparedCommand,
    index: number,
    results: (string | undefined)[],
    batch: Batch,
    tx: Tx,
  ): Promise<RefusedCall | null> | RefusedCall | null {
    // Behind the fence: who lost it must stop, and not read and decide again.
    if (index === 0) batch.require(this.call.requirements, this.call.cause);
    const mint = new Mint(this.call.seed, index);
    const reading = readAll(command, { tx, known: batch.known, unready: this.deciding.unready });
    return onceKnown(reading, (read) => {
      const answer = this.ask(command, read, mint, batch, tx);
      if (answer.type === "refused") return this.refusal(answer, command, index);
      const events = prepareCommandEvents(command, answer.events, this.deciding, this.call.labels, mint);
      return onceKnown(placeEvents(events, "add", { batch, tx }), () => {
        results.push(resultText(answer.result, `${command.path} result`, tx));
        return null;
      });
    });
  }

  /** Before each command, for an earlier one of the list may have let go of the claim. */
  private checkFence(
    fence: FenceProof,
    { definition }: PreparedCommand,
    index: number,
    ground: FenceGround,
  ): Promise<RefusedCall | null> | RefusedCall | null {
    return onceKnown(refusalOfFence(fence, definition.lateFence, ground), (refused) => {
      if (refused === null) return null;
      const { error, reason } = refused;
      return {
        type: "refused",
        code: error.code,
        details: error.details as JsonObject, // made of a key, a reason and numbers
        message: error.message,
        transient: false,
        index: this.call.isList ? index : null,
        ...(reason === null ? {} : { fenced: { command: definition.name, reason } }),
      };
    });
  }

  private ask(
    command: PreparedCommand,
    { found, salts }: FoundAll,
    mint: Mint,
    { incarnation }: Pick<Batch, "incarnation">,
    { at }: Pick<Tx, "at">,
  ): CommandAnswer {
    const { id, client, labels, fence } = this.call;
    const context = commandContext({
      at,
      id,
      client,
      actor: labels.actor ?? null,
      incarnation,
      fence,
      mint,
      salts,
    });
    const { definition, input, path } = command;
    // What it takes is what its stages found and what was parsed: the types of the definition say so.
    return parseAnswer(definition.decide(found as never, input as never, context), `${path} decide`);
  }

  private refusal(refused: Refused, { definition, path }: PreparedCommand, index: number): RefusedCall {
    const { code, details, transient } = refused;
    const text = canonicalText(details, { path: `${path} details` });
    const bytes = Buffer.byteLength(text);
    if (bytes > resultBytesMax) throw tooLarge(`${path} details`, bytes);
    const message = refused.message === code ? `${definition.name} was refused with ${code}` : refused.message;
    return {
      type: "refused",
      code,
      details: JSON.parse(text) as JsonObject, // it was an object
      message,
      transient,
      index: this.call.isList ? index : null,
    };
  }

  private accept(batch: Batch, tx: Tx, accepted: AcceptedCall): Staged {
    const results = accepted.results.map((text) => (text === undefined ? undefined : (JSON.parse(text) as unknown)));
    const answer = tx.count === 0 ? nothingWritten(batch, tx, results) : whatWasWritten(tx.seal(), results);
    return this.answering(answer, answer.count);
  }

  private refuse(batch: Batch, refused: RefusedCall): Promise<Decided> | Decided {
    const { code, details, message, index, fenced } = refused;
    const error = new LedgerError(code, message, { details: index === null ? details : { ...details, index } });
    const tx = batch.open();
    const { fence } = this.call;
    const { unready } = this.deciding;
    const recorded =
      fenced === undefined || fence === null ? undefined : recordRefusal(fence, fenced, { batch, tx, unready });
    const kept = onceKnown(recorded, () =>
      this.receipt === null || refused.transient ? undefined : this.record(batch, tx, this.receipt, refused),
    );
    return onceKnown(kept, () => {
      if (tx.count === 0) return { error };
      return { staged: { count: tx.seal().rows.length, answer: () => this.settle.reject(error) } };
    });
  }

  private record(
    batch: Batch,
    tx: Tx,
    receipt: CallReceipt,
    outcome: AcceptedCall | RefusedCall,
  ): Promise<void> | void {
    const event = receipt.event(outcome, new Mint(this.call.seed, "receipt"));
    return placeEvents([event], "record", { batch, tx });
  }

  private answering(answer: CallAnswer, count: number): Staged {
    return { count, answer: () => this.settle.resolve(answer) };
  }
}

/** What is larger than this is not decided twice, for its contents would be hashed twice. */
const foreseenWeightMax = 65_536;

/** Of calls that choose among what they find, as claims do, each takes another one: where the stream that this one chose is named
 *  by the key of a document that was found, the streams of the other documents are those that the others will choose. */
function foreseeOthers(events: readonly PreparedEvent[], foreseen: Foreseen): void {
  for (const { documents } of foreseen.choices.splice(0)) {
    for (const { stream } of events) {
      const chosen = documents.find(({ key }) => stream.endsWith(`/${key}`));
      if (chosen === undefined) continue;
      const kind = stream.slice(0, -chosen.key.length);
      for (const { key } of documents) foreseen.stream(`${kind}${key}`);
    }
  }
}

/** The decision of a call that threw; a failure of the store concerns the batch. */
function refusedWith(error: unknown): Decided {
  if (error instanceof StoreFailure) throw error.cause;
  return { error };
}

function whatWasWritten({ rows, asked, revisionOf }: Written, results: readonly unknown[]): CallAnswer {
  const streams = asked.length === 1 ? [asked[0]!.stream] : [...new Set(asked.map((row) => row.stream))];
  const said = streams.map((stream) => ({ stream, revision: revisionOf(stream) }));
  const first = rows[0]!; // a sealed tx has one
  return {
    first: first.seq,
    position: first.seq + rows.length - 1,
    count: rows.length,
    at: first.at,
    ids: asked.map((row) => row.id),
    revision: said[0]?.revision ?? 0,
    streams: said,
    results,
    adopted: false,
  };
}

function nothingWritten(batch: Batch, tx: Tx, results: readonly unknown[]): CallAnswer {
  const position = batch.head()?.seq ?? -1;
  const nothing = { count: 0, at: tx.at, ids: [], revision: 0, streams: [] };
  return { first: position + 1, position, ...nothing, results, adopted: false };
}
