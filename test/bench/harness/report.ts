/** What a measure has to say, and how it is printed. */
import type { Spread } from "./statistics.js";

/** A target of performance.md. `least`: the ratio must reach it; `most`: it must stay below. */
export interface Target {
  readonly kind: "least" | "most";
  readonly must: number;
  readonly stretch?: number;
}

/** One line of the result: a ratio (or a figure with a unit) against its target. */
export interface Line {
  readonly id: string;
  readonly what: string;
  readonly value: Spread;
  readonly unit?: string;
  readonly target: Target;
  /** p50 of overwrite + fdatasync in the same rounds, where the disk is part of the measure. */
  readonly rawP50Ms?: number;
  /** The figures behind the ratio. */
  readonly note: string;
}

/** A limit of the machine: no target, only a figure to read the others by. */
export interface Figure {
  readonly what: string;
  readonly value: Spread;
  readonly unit: string;
  readonly note?: string;
}

export function least(must: number, stretch?: number): Target {
  return stretch === undefined ? { kind: "least", must } : { kind: "least", must, stretch };
}

export function most(must: number, stretch?: number): Target {
  return stretch === undefined ? { kind: "most", must } : { kind: "most", must, stretch };
}

/** Above the lines. */
export const heading: string = row(["", "measure", "ratio [min..max]", "must", "stretch", "", "raw p50", "from"]);

export function formatLine({ id, what, value, unit = "", target, rawP50Ms, note }: Line): string {
  const sign = target.kind === "least" ? "≥" : "≤";
  const stretch = target.stretch === undefined ? "" : `${sign} ${short(target.stretch)}${unit}`;
  const raw = rawP50Ms === undefined ? "" : `${rawP50Ms.toFixed(2)} ms`;
  return row([
    id,
    what,
    `${bracketed(value)}${unit}`,
    `${sign} ${short(target.must)}${unit}`,
    stretch,
    verdict(value.median, target),
    raw,
    note,
  ]);
}

export function formatFigure({ what, value, unit, note = "" }: Figure): string {
  return `     ${what.padEnd(58)} ${`${bracketed(value)} ${unit}`.padEnd(34)} ${note}`.trimEnd();
}

/** How far the median is: `pass`, or `MISS` with the part of the must that was reached. */
export function verdict(median: number, { kind, must }: Target): string {
  const reached = kind === "least" ? median / must : must / median;
  return reached >= 1 ? "pass" : `MISS ${reached.toFixed(2)}`;
}

/** A number in about three digits. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (Math.abs(value) >= 10_000) return `${(value / 1e3).toFixed(0)}k`;
  if (Math.abs(value) >= 1_000) return `${(value / 1e3).toFixed(1)}k`;
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return String(Number(value.toPrecision(3)));
}

function bracketed({ median, min, max }: Spread): string {
  return `${short(median)} [${short(min)}..${short(max)}]`;
}

function row(cells: readonly string[]): string {
  const widths = [4, 58, 24, 10, 10, 10, 9, 0];
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join(" ")
    .trimEnd();
}
