/** What the report says of checkpoints that vouch for the journal, and of all that none vouches for. */
import type { Checkpoints } from "./checkpoints.js";
import { counted } from "./figures.js";
import type { Anchored, CheckLine } from "./report.js";

/** Up to where the journal is anchored. */
export function anchoredOf({ anchor }: Checkpoints, size: number): Anchored {
  if (anchor === null) return { to: null, unanchored: size, at: null, signatures: null };
  return { to: anchor.size - 1, unanchored: size - anchor.size, at: anchor.at, signatures: anchor.signatures };
}

/** The closing lines on checkpoints. `headAt` is the time of the last entry, `now` that of whoever verifies. */
export function anchorLines(
  { anchor, signed }: Checkpoints,
  anchored: Anchored,
  headAt: number,
  now: number | null,
): CheckLine[] {
  const lines: CheckLine[] = [];
  const add = (check: CheckLine["check"], message: string, checked: number): void => {
    lines.push({ status: "info", check, where: "", code: null, message, checked });
  };
  const { to, unanchored, at, signatures } = anchored;
  if (signed !== null) add("signed", `to #${signed.size - 1} by ${signed.by}`, signed.size);
  if (anchor === null || to === null || at === null) {
    add("anchored", `no checkpoint from outside: ${resting(unanchored, "event")}`, unanchored);
    return lines;
  }
  const unchecked = signatures === "unchecked" ? ", its signature not checked for want of a key" : "";
  const later = unanchored === 0 ? "nothing came later" : resting(unanchored, "later event");
  add("anchored", `to #${to} by checkpoint given with --from${unchecked}; ${later}`, anchor.size);
  const behind = headAt > at ? `, the head ${duration(headAt - at)} later` : "";
  const age = now === null ? "" : now >= headAt ? `, ${duration(now - headAt)} ago` : ", ahead of this host's clock";
  add("age", `#${to} is of ${new Date(at).toISOString()}${unanchored === 0 ? "" : behind}${age}`, anchor.size);
  return lines;
}

function resting(count: number, noun: string): string {
  return `${counted(count, noun)} ${count === 1 ? "rests" : "rest"} on this ledger alone`;
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** A span of time in its largest unit: how old something is, not how long it took. */
function duration(ms: number): string {
  for (const [unit, length] of units) if (ms >= length) return counted(Math.floor(ms / length), unit);
  return "less than a second";
}
