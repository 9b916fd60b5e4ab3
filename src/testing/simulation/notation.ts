/** How a failure shows what happened, in the notation of this project:
 *    q1 c1@f1 x c1'@f2 s1✗(generation) s1'✓
 *  A call is its verbs with their runs, the fence that it came under, and what it was told. */
import type { Fence } from "../../kernel/claim.js";
import { claimKey } from "../model/call.js";
import type { Call, Wish } from "../model/call.js";
import type { Attempt } from "./evidence.js";
import type { Told } from "./send.js";

const verbs: Readonly<Record<Wish["type"], string>> = {
  enqueue: "q",
  claimNext: "c",
  renew: "r",
  park: "p",
  complete: "s",
  release: "d",
  requeue: "b",
  requestCancel: "x",
  append: "w",
};

/** A call and what it was told. */
export function sayCall(call: Call, told: Told | null): string {
  const asked = call.wishes.map(sayWish).join(" ");
  const words = [
    call.isList ? `[${asked}]` : asked,
    sayFence(call.fence),
    call.id === null ? "" : ` #${call.id.slice(3)}`,
  ];
  return `${words.join("")}${told === null ? "…" : sayTold(told)}`;
}

function sayWish(wish: Wish): string {
  const verb = verbs[wish.type];
  switch (wish.type) {
    case "enqueue":
      return `${verb}${wish.runId}${wish.claim === undefined ? "" : "+c"}${wish.parent === undefined ? "" : `<${wish.parent}`}`;
    case "claimNext":
      return `${verb}(${wish.leaseMs})`;
    case "renew":
      return `${verb}${wish.runId}(${wish.leaseMs})`;
    case "append":
      return `${verb}${wish.stream.slice("host/".length)}`;
    default:
      return `${verb}${wish.runId}`;
  }
}

function sayFence(fence: Fence | null): string {
  return fence === null ? "" : `@f${fence.generation}`;
}

function sayTold(told: Told): string {
  switch (told.type) {
    case "accepted": {
      const claimed = told.fence === null ? "" : `=${told.fence.key.slice("queue/".length)}@f${told.fence.generation}`;
      return `✓${claimed}${told.adopted === true ? "(again)" : ""}`;
    }
    case "refused":
      return `✗(${told.reason ?? told.code})${told.adopted ? "(again)" : ""}`;
    case "failed":
      return `?(${told.code})`;
  }
}

const shownMax = 40;

/** The last calls that had to do with a run, or of all. */
export function sayAttempts(attempts: readonly Attempt[], runId: string | null): readonly string[] {
  const some = runId === null ? attempts : attempts.filter((attempt) => concerns(attempt, runId));
  return some.slice(-shownMax).map(({ mark, by, call, told, isHeard }) => {
    const unheard = isHeard || told?.type === "failed" ? "" : " (not heard)";
    return `${mark} ${by} ${sayCall(call, told)}${unheard}`;
  });
}

function concerns({ call, told }: Attempt, runId: string): boolean {
  const key = claimKey(runId);
  if (call.fence?.key === key || (told?.type === "accepted" && told.fence?.key === key)) return true;
  return call.wishes.some(
    (wish) => ("runId" in wish && wish.runId === runId) || ("parent" in wish && wish.parent === runId),
  );
}
