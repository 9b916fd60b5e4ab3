import { invalid } from "../kernel/errors.js";
import type { LedgerError } from "../kernel/errors.js";
import { parseDuration } from "../kernel/clock.js";
import { leaseMsMax, listLimitDefault, listLimitMax } from "../kernel/limits.js";
import { checkBoolean, checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { parseName } from "../kernel/names.js";
import { isFact, parseFilter } from "./event-filter.js";
import type { EventFilter } from "./event-filter.js";
import type { StoreReads } from "../journal/store.js";
import type { ConsumerPlan } from "./consumer.js";
import { parseUnknown } from "./shown-event.js";
import type { Place } from "./subscription-batch.js";
import type { SubscribeOptions, UnknownEvents } from "./types.js";

/** What a subscription follows, checked. */
export interface SubscriptionPlan {
  readonly from: number | "head" | "start";
  readonly matches: EventFilter;
  readonly unknown: UnknownEvents;
  readonly eventsMax: number;
  readonly signal: AbortSignal | undefined;
  readonly consumer: ConsumerPlan | null;
}

const consumerOptionNames = ["leaseMs", "reset"] as const;
const optionNames = [
  "from",
  "consumer",
  "streams",
  "kinds",
  "types",
  "batch",
  "unknown",
  "signal",
  ...consumerOptionNames,
];
const leaseMsDefault = 30_000;

export function parseSubscription(options: SubscribeOptions): SubscriptionPlan {
  checkMembers(options, "options", optionNames);
  checkSignal(options.signal, "options.signal");
  return {
    from: parseFrom(options.from),
    matches: parseFilter(options) ?? isFact,
    unknown: parseUnknown(options.unknown),
    eventsMax: parseInteger(
      options.batch === undefined ? listLimitDefault : options.batch,
      "options.batch",
      1,
      listLimitMax,
    ),
    signal: options.signal,
    consumer: parseConsumer(options),
  };
}

function parseConsumer(options: SubscribeOptions): ConsumerPlan | null {
  if (options.consumer === undefined) {
    for (const name of consumerOptionNames)
      if (options[name] !== undefined)
        throw invalid(`options.${name}`, "given together with options.consumer", options[name]);
    return null;
  }
  checkBoolean(options.reset, "options.reset");
  const { reset = false, leaseMs = leaseMsDefault } = options;
  if (reset && options.from === undefined)
    throw invalid("options.from", "given together with options.reset: where the consumer begins anew", undefined);
  return {
    name: parseName(options.consumer, "options.consumer"),
    leaseMs: parseDuration(leaseMs, "options.leaseMs", leaseMsMax),
    reset,
  };
}

function parseFrom(from: unknown = "start"): number | "head" | "start" {
  if (from === "head" || from === "start") return from;
  if (typeof from === "number") return parseInteger(from, "options.from", 0);
  throw invalid("options.from", 'a position, "head" or "start"', from);
}

/** The place before the first position that is asked for, or why there is none. */
export async function placeBefore(from: SubscriptionPlan["from"], reads: StoreReads): Promise<Place | LedgerError> {
  const end = (await reads.head())?.seq ?? -1;
  const position = from === "head" ? end : from === "start" ? -1 : from - 1;
  if (position <= end) {
    const [id] = position < 0 ? [] : await reads.ids(position, 1);
    return { position, id: id ?? null };
  }
  return invalid("options.from", `at most ${end + 1}, the next position to be written`, from);
}
