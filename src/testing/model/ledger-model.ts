/** The reference model of calls: lists that are one, fences before each wish, refusals that are recorded, receipts. What it says
 *  of a call is what every caller must be told and what must stand in the journal, and nothing else.
 *  Invariant: asking changes nothing; what was asked happens when its answer is adopted.
 *  Source: design section 9, decisions 15.9, 0019, 0022. */
import { canonicalize } from "../../kernel/canonical.js";
import { commandName } from "./call.js";
import type { Call, Wish } from "./call.js";
import { askQueue, judgeFence, rankOf } from "./queue-model.js";
import type { ModelEvent, ModelItem, ModelRefusal, Moment } from "./queue-model.js";

/** What a caller must be told. */
export type ModelOutcome =
  | { readonly type: "accepted"; readonly results: readonly unknown[]; readonly adopted: boolean }
  | {
      readonly type: "refused";
      readonly code: string;
      readonly details: Readonly<Record<string, unknown>>;
      readonly adopted: boolean;
    };

/** What becomes of a call. */
export interface Foretold {
  readonly outcome: ModelOutcome;
  /** The events of its tx, in order; the receipt is one of them, with what must be in it. */
  readonly events: readonly ModelEvent[];
  readonly after: ModelState;
}

/** A receipt. */
interface Kept {
  readonly text: string;
  readonly outcome: ModelOutcome;
}

/** All that the model knows. */
export interface ModelState {
  readonly items: ReadonlyMap<string, ModelItem>;
  readonly receipts: ReadonlyMap<string, Kept>;
}

/** Refusals for the moment, of which no receipt is kept. */
const passing: ReadonlySet<string> = new Set(["SLOT_TAKEN"]);
const rememberedMax = 32;

export class LedgerModel {
  private state: ModelState = { items: new Map(), receipts: new Map() };

  /** What becomes of a call at a moment of engine time. */
  ask(call: Call, at: number): Foretold {
    const { state } = this;
    const text = canonicalize([call.isList, call.wishes]);
    const kept = call.id === null ? undefined : state.receipts.get(call.id);
    if (kept !== undefined) {
      const outcome: ModelOutcome =
        kept.text === text
          ? { ...kept.outcome, adopted: true }
          : { type: "refused", code: "IDEMPOTENCY_CONFLICT", details: {}, adopted: false };
      return { outcome, events: [], after: state };
    }
    const tried = tryAll(call, copyOf(state.items), at);
    if (!("code" in tried)) {
      const outcome: ModelOutcome = { type: "accepted", results: tried.results, adopted: false };
      return this.keep(call, { text, outcome }, tried.events, tried.items);
    }
    const { code, details, events, items } = tried;
    const outcome: ModelOutcome = { type: "refused", code, details, adopted: false };
    if (passing.has(code)) return { outcome, events, after: { ...state, items } };
    return this.keep(call, { text, outcome }, events, items);
  }

  /** It happened. */
  adopt({ after }: Foretold): void {
    this.state = after;
  }

  item(runId: string): ModelItem | undefined {
    return this.state.items.get(runId);
  }

  get items(): readonly ModelItem[] {
    return [...this.state.items.values()];
  }

  /** The items as `ledger.queue.list` must show them, the oldest first. */
  list(): readonly object[] {
    return this.items
      .filter(({ status }) => status !== "released")
      .sort((one, other) => one.createdAt - other.createdAt || (one.runId < other.runId ? -1 : 1))
      .map(viewOf);
  }

  private keep(call: Call, kept: Kept, events: readonly ModelEvent[], items: ReadonlyMap<string, ModelItem>): Foretold {
    const { outcome } = kept;
    if (call.id === null) return { outcome, events, after: { ...this.state, items } };
    const receipts = new Map(this.state.receipts).set(call.id, kept);
    return { outcome, events: [...events, receiptOf(call, call.id, outcome)], after: { items, receipts } };
  }
}

interface Tried {
  readonly results: readonly unknown[];
  readonly events: readonly ModelEvent[];
  readonly items: ReadonlyMap<string, ModelItem>;
}

/** One wish after the other, each on what the ones before it left; the first that is refused undoes them all. */
function tryAll(
  call: Call,
  items: Map<string, ModelItem>,
  at: number,
): Tried | (ModelRefusal & Omit<Tried, "results">) {
  const { wishes, isList, fence } = call;
  const before = copyOf(items);
  const moment: Moment = { items, at, fence };
  const results: unknown[] = [];
  const events: ModelEvent[] = [];
  for (const [index, wish] of wishes.entries()) {
    const inList = isList ? { index } : {};
    const isLate = wish.type === "park" || wish.type === "release";
    const refused = fence === null ? null : judgeFence(fence, isLate, moment);
    if (refused !== null) {
      const recorded = recordRefusal(call, wish, refused, before);
      return { code: refused.code, details: { ...refused.details, ...inList }, events: recorded, items: before };
    }
    const answer = askQueue(wish, moment);
    if ("code" in answer)
      return { code: answer.code, details: { ...answer.details, ...inList }, events: [], items: before };
    results.push(answer.result);
    events.push(...answer.events);
  }
  return { results, events, items };
}

/** Once for each key, generation and command, of a generation that was issued. */
function recordRefusal(
  { fence }: Call,
  wish: Wish,
  { code, details }: ModelRefusal,
  items: Map<string, ModelItem>,
): readonly ModelEvent[] {
  const { key, generation } = fence!; // it was refused
  const item = items.get(key.slice("queue/".length));
  const name = `${generation} ${commandName(wish)}`;
  if (code !== "FENCED" || item === undefined || generation > item.generation) return [];
  if (item.refused.length >= rememberedMax || item.refused.includes(name)) return [];
  item.refused = [...item.refused, name];
  const data = { key, generation, command: commandName(wish), reason: details["reason"] };
  return [{ stream: `fence/${key}`, type: "fence.refused", data }];
}

function receiptOf({ wishes, isList }: Call, id: string, outcome: ModelOutcome): ModelEvent {
  const names = [...new Set(wishes.map(commandName))];
  const named = isList ? { names } : { name: names[0] };
  const data = { id, outcome: outcome.type, ...named };
  if (outcome.type === "refused") {
    const { index, ...details } = outcome.details;
    const refusal = { code: outcome.code, details, ...(index !== undefined && { index }) };
    return { stream: "client/default", type: "receipt.recorded", data: { ...data, refusal } };
  }
  const { results } = outcome;
  const said = isList ? { results: results.map((result) => [result]) } : { result: results[0] };
  return { stream: "client/default", type: "receipt.recorded", data: { ...data, ...said } };
}

function copyOf(items: ReadonlyMap<string, ModelItem>): Map<string, ModelItem> {
  return new Map([...items].map(([runId, item]) => [runId, { ...item }]));
}

function viewOf(item: ModelItem): object {
  const { claim, refused: _, hasInput: __, ...shown } = item;
  if (claim === null) return { ...shown, rank: rankOf(item), claim };
  const { token: ___, ...listed } = claim;
  return { ...shown, rank: rankOf(item), claim: listed };
}
