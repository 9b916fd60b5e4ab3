import { invalid } from "../kernel/errors.js";
import { listLimitDefault, listLimitMax } from "../kernel/limits.js";
import { checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { journalKind } from "../journal/events/journal.js";
import { kindOf } from "../kernel/names.js";
import { parseFilter } from "./event-filter.js";
import type { EventFilter } from "./event-filter.js";
import { parseUnknown } from "./shown-event.js";
import type { SubscribeOptions, UnknownEvents } from "./types.js";

/** What a subscription follows, checked. */
export interface SubscriptionPlan {
  readonly from: number | "head" | "start";
  readonly matches: EventFilter;
  readonly unknown: UnknownEvents;
  readonly eventsMax: number;
  readonly signal: AbortSignal | undefined;
}

const optionNames = ["from", "streams", "kinds", "types", "batch", "unknown", "signal"];

export function parseSubscription(options: SubscribeOptions): SubscriptionPlan {
  checkMembers(options, "options", optionNames);
  checkSignal(options.signal, "options.signal");
  return {
    from: parseFrom(options.from),
    matches: parseFilter(options) ?? isFact,
    unknown: parseUnknown(options.unknown),
    eventsMax: parseInteger(options.batch ?? listLimitDefault, "options.batch", 1, listLimitMax),
    signal: options.signal,
  };
}

function parseFrom(from: unknown = "start"): number | "head" | "start" {
  if (from === "head" || from === "start") return from;
  if (typeof from === "number") return parseInteger(from, "options.from", 0);
  throw invalid("options.from", 'a position, "head" or "start"', from);
}

/** What a host said, as opposed to what the engine keeps for itself. */
const isFact: EventFilter = ({ stream, type }) =>
  kindOf(stream) !== journalKind && type !== "receipt.recorded" && type !== "fence.refused";
