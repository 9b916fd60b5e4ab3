/** Holds what was told, and what is written, against what the model foretold. */
import { canonicalize } from "../../kernel/canonical.js";
import type { FenceMark } from "../../journal/entry.js";
import type { Fence } from "../../kernel/claim.js";
import type { Foretold, ModelOutcome } from "../model/ledger-model.js";
import type { Told } from "./send.js";

/** What differs between the answer that a caller got and the model's; null: nothing. */
export function answerDiffers(told: Told, { outcome }: Pick<Foretold, "outcome">): string | null {
  if (told.type === "failed") return `must be ${say(outcome)}, found the failure ${told.code}`;
  if (told.type !== outcome.type) return `must be ${say(outcome)}, found ${JSON.stringify(told)}`;
  if (told.adopted !== undefined && told.adopted !== outcome.adopted)
    return `must be ${outcome.adopted ? "an earlier answer" : "a new answer"}, found the other`;
  if (told.type === "refused" && outcome.type === "refused") {
    if (told.code !== outcome.code) return `must be refused with ${outcome.code}, found ${told.code}`;
    // It says where the first one is, which a model of the queue does not know.
    if (told.code === "IDEMPOTENCY_CONFLICT" || isEqual(told.details, outcome.details)) return null;
    return `must be refused with ${canonicalize(outcome.details)}, found ${canonicalize(told.details)}`;
  }
  if (told.type === "accepted" && outcome.type === "accepted" && !includes(outcome.results, told.results))
    return `must be answered ${JSON.stringify(outcome.results)}, found ${JSON.stringify(told.results)}`;
  return null;
}

/** An event as the journal has it. */
export interface WrittenEvent {
  readonly stream: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly fence?: FenceMark;
}

/** What differs between the events of a tx and the model's; null: nothing. The engine's own entries about areas are not the
 *  model's. */
export function eventsDiffer(
  events: readonly WrittenEvent[],
  { events: foretold }: Pick<Foretold, "events">,
  fence: Fence | null,
): string | null {
  const found = events.filter(({ stream }) => stream !== "journal/main");
  for (const [index, wanted] of foretold.entries()) {
    const event = found[index];
    if (event === undefined) return `must write ${wanted.type} ${canonicalize(wanted.data)}, found no such event`;
    const { stream, type, data } = event;
    if (stream !== wanted.stream || type !== wanted.type || !includes(wanted.data, known(type, data)))
      return `must write ${wanted.type} on ${wanted.stream} ${canonicalize(wanted.data)}, found ${type} on ${stream} ${canonicalize(data)}`;
    const isEngines = stream.startsWith("fence/") || stream.startsWith("client/");
    const mark = fence === null || isEngines ? [] : [fence.key, fence.incarnation, fence.generation];
    if (!isEqual(event.fence ?? [], mark))
      return `must write ${type} under ${canonicalize(mark)}, found ${canonicalize(event.fence ?? [])}`;
  }
  const more = found[foretold.length];
  return more === undefined ? null : `must write ${foretold.length} events, found ${more.type} behind them`;
}

/** What the model knows of an event's data: no contents, no salts, no sentences. */
function known(
  type: string,
  { input: _, salt: __, fingerprint: ___, ...data }: Readonly<Record<string, unknown>>,
): object {
  const { refusal, result, results } = data;
  if (type !== "receipt.recorded") return data;
  if (typeof refusal === "object" && refusal !== null) {
    const { message: ____, ...said } = refusal as { readonly message?: unknown };
    return { ...data, refusal: said };
  }
  return { ...data, ...(result !== undefined && { result }), ...(results !== undefined && { results }) };
}

/** Is everything that was told what the model says? References to contents are not the model's. */
function includes(model: unknown, told: unknown): boolean {
  if (typeof told !== "object" || told === null) return Object.is(model ?? null, told ?? null);
  if (typeof model !== "object" || model === null) return false;
  return Object.entries(told).every(
    ([name, value]) => name === "input" || includes((model as Readonly<Record<string, unknown>>)[name], value),
  );
}

function isEqual(one: unknown, other: unknown): boolean {
  return canonicalize(one) === canonicalize(other);
}

function say(outcome: ModelOutcome): string {
  return outcome.type === "accepted" ? "accepted" : `refused with ${outcome.code} ${canonicalize(outcome.details)}`;
}
