/** Sends a call to a ledger through its public faces, and says in one form what the caller was told. */
import type { Ledger } from "../../api/ledger.js";
import { hashToken } from "../../kernel/claim.js";
import type { Fence } from "../../kernel/claim.js";
import { LedgerError } from "../../kernel/errors.js";
import type { Executed } from "../../engine/execution.js";
import { queueCommands } from "../../commands/queue.js";
import type { Command } from "../../commands/define-command.js";
import { claimKey } from "../model/call.js";
import type { Call, Wish, WishedClaim } from "../model/call.js";

/** What a caller was told. `failed`: the store, or the process, did not do its part. */
export type Told =
  | {
      readonly type: "accepted";
      /** One a wish, as far as the face says it. */
      readonly results: readonly unknown[];
      /** Where the face says it: whether it is an earlier answer, and what was written where. */
      readonly adopted?: boolean;
      readonly ids?: readonly string[];
      readonly first?: number;
      readonly position?: number;
      readonly count?: number;
      readonly at?: number;
      readonly revision?: number;
      readonly streams?: readonly { readonly stream: string; readonly revision: number }[];
      /** The fence of what was claimed. */
      readonly fence: Fence | null;
    }
  | {
      readonly type: "refused";
      readonly code: string;
      /** Of a fence: what is wrong with it. */
      readonly reason: string | null;
      readonly details: Readonly<Record<string, unknown>>;
      readonly adopted: boolean;
    }
  | { readonly type: "failed"; readonly code: string };

/** Codes of a store that has bad luck, or of a process that is dead. After `STORE_IN_DOUBT` alone nobody knows. */
const failures: ReadonlySet<string> = new Set([
  "CLOSED",
  "STORE_BUSY",
  "STORE_FULL",
  "STORE_IN_DOUBT",
  "STORE_UNAVAILABLE",
]);

/** Refusals by the rules; whatever else is thrown is a fault, and is thrown on. */
const refusals: ReadonlySet<string> = new Set([
  "ALREADY_EXISTS",
  "FENCED",
  "IDEMPOTENCY_CONFLICT",
  "ILLEGAL_TRANSITION",
  "NOT_FOUND",
  "SLOT_TAKEN",
]);

/** Sends it, marked so that its events can be told from those of other calls. */
export async function send(ledger: Ledger, call: Call, mark: string): Promise<Told> {
  const options = { correlation: mark, ...(call.id !== null && { id: call.id }) };
  try {
    if (call.isList) {
      const under = call.fence === null ? options : { ...options, fence: call.fence };
      const { results, ...executed } = await ledger.execute(call.wishes.map(commandOf), under);
      return { type: "accepted", results, ...executed, fence: null };
    }
    return await sendOne(ledger, call.wishes[0]!, call.fence, options);
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { code, details, adopted } = error;
    if (failures.has(code)) return { type: "failed", code };
    const reason = typeof details["reason"] === "string" ? details["reason"] : null;
    if (refusals.has(code)) return { type: "refused", code, reason, details, adopted };
    throw error;
  }
}

type SendOptions = { readonly correlation: string; readonly id?: string };

async function sendOne(ledger: Ledger, wish: Wish, fence: Fence | null, options: SendOptions): Promise<Told> {
  const { queue } = ledger;
  const accepted = (result: unknown, more: object = {}, claimed: Fence | null = null): Told => ({
    type: "accepted",
    results: [result],
    ...more,
    fence: claimed,
  });
  switch (wish.type) {
    case "enqueue": {
      const { type: _, ...item } = wish;
      const { fence: claimed, ...executed } = await queue.enqueue(item, options);
      if (claimed === null) return accepted(null, executed);
      const { incarnation, generation } = claimed;
      return accepted({ incarnation, generation }, executed, claimed);
    }
    case "claimNext": {
      const { type: _, ...claim } = wish;
      const claimed = await queue.claimNext(claim, options);
      if (claimed === null) return accepted(null);
      const { item, fence: got, ...executed } = claimed;
      return accepted(item, executed, got);
    }
    case "renew":
      return split(await queue.renew(fenceOf(wish, fence), wish.leaseMs, options));
    case "park": {
      const { type: _, runId: __, ...park } = wish;
      return accepted(null, await queue.park(fenceOf(wish, fence), park, options));
    }
    case "complete":
      return accepted(null, await queue.complete(fenceOf(wish, fence), options));
    case "release":
      return accepted(null, await queue.release(fenceOf(wish, fence), wish.reason, options));
    case "requeue": {
      const { type: _, runId, ...requeue } = wish;
      return split(await queue.requeue(fence ?? runId, requeue, options));
    }
    case "requestCancel":
      return split(await queue.requestCancel(wish.runId, wish.reason, options));
    case "append": {
      const events = [{ type: "host.said", data: { says: wish.says } }];
      const { correlation } = options;
      const appended = await ledger.append(wish.stream, events, { correlation, ...(fence !== null && { fence }) });
      return accepted(null, appended);
    }
  }
}

/** Takes apart what was executed and what was answered. */
function split(answer: Executed & object): Told {
  const { first, position, count, at, ids, revision, streams, adopted, fingerprint: _, ...result } = answer;
  return {
    type: "accepted",
    results: [result],
    first,
    position,
    count,
    at,
    ids,
    revision,
    streams,
    adopted,
    fence: null,
  };
}

/** A single wish of a holder takes its run from its fence. */
function fenceOf({ runId }: { readonly runId: string }, fence: Fence | null): Fence {
  if (fence?.key !== claimKey(runId)) throw new Error("a single wish of a holder must come with the fence of its run");
  return fence;
}

function commandOf(wish: Wish): Command {
  switch (wish.type) {
    case "enqueue": {
      const { type: _, claim, ...input } = wish;
      return queueCommands.enqueue({ ...input, ...(claim && { claim: hashed(claim) }) });
    }
    case "claimNext": {
      const { type: _, exclude, ...claim } = wish;
      return queueCommands.claimNext({ ...hashed(claim), exclude });
    }
    case "append":
      throw new Error("what a host appends is a call by itself");
    default: {
      const { type, ...input } = wish;
      const command = queueCommands[type] as (input: object) => Command; // each takes what its wish has
      return command(input);
    }
  }
}

function hashed({ token, ...claim }: WishedClaim) {
  return { ...claim, tokenHash: hashToken(token) };
}
