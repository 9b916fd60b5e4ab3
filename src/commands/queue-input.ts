/** What the commands of the run queue are told, and how it is checked. */
import { isDigest } from "../kernel/digest.js";
import { invalid, limit } from "../kernel/errors.js";
import { exclusionsMax, leaseMsMax, priorityMax, reclaimsMaxMax } from "../kernel/limits.js";
import { isList, parseInteger } from "../kernel/members.js";
import { parseLabel, parseReason, parseRunId } from "../kernel/names.js";
import type { ContentValue } from "../journal/content.js";
import { members, optional, parseInput, parseTime } from "./input.js";

/** A run for the queue. Times are engine time, ms since the epoch. @public */
export interface EnqueueInput {
  readonly runId: string;
  /** Nobody gets it before. Default: now. */
  readonly availableAt?: number | undefined;
  /** −1,000 to 1,000: a step outweighs a minute of waiting, so that an endless feed of items that are so many steps more urgent
   *  is passed after as many minutes. Default 0. */
  readonly priority?: number | undefined;
  /** The runner for which it counts ten minutes older. Default: the holder of its claim, or nobody. */
  readonly affinity?: string | undefined;
  /** The run that it continues; at most one item at a time has the slot of a run. */
  readonly parent?: string | undefined;
  /** Kept as content: JSON or bytes, at most 1 MiB. */
  readonly input?: unknown;
  /** Takeovers after which it is dead. Default 10. */
  readonly reclaimsMax?: number | undefined;
  /** The caller owns it from birth. */
  readonly claim?: ClaimWish | undefined;
}

/** A claim that is wished for. @public */
export interface ClaimWish {
  /** Who owns it then: a label of 1 to 128 units. */
  readonly holder: string;
  /** 1 ms to 24 h. */
  readonly leaseMs: number;
  /** SHA-256 of the token, 64 hex digits (`hashToken`): the token itself stays with the caller. */
  readonly tokenHash: string;
}

/** Whom to claim for. @public */
export interface ClaimNextInput extends ClaimWish {
  /** Runs that are left out, at most 1,000. */
  readonly exclude?: readonly string[] | undefined;
  /** This run alone, for whoever comes back for it: whatever its place in the order, when nobody owns it and its time has come. */
  readonly runId?: string | undefined;
}

/** More time for a holder. @public */
export interface RenewInput {
  readonly runId: string;
  readonly leaseMs: number;
}

/** What to let go of, and until when. @public */
export interface ParkInput {
  readonly runId: string;
  /** Others may claim it from then on; null: not before somebody asks for it. Default: now. */
  readonly availableAt?: number | null | undefined;
  readonly reason?: string | undefined;
}

/** What is done. @public */
export interface CompleteInput {
  readonly runId: string;
}

/** What to take off the queue. @public */
export interface ReleaseInput {
  readonly runId: string;
  readonly reason?: string | undefined;
}

/** What to try again, or to want. @public */
export interface RequeueInput {
  readonly runId: string;
  /** Default: now. */
  readonly availableAt?: number | undefined;
  readonly reason?: string | undefined;
  /** How often its workers may give it back; behind that it is dead. Default: as often as they like. */
  readonly failuresMax?: number | undefined;
}

/** What should be ended, and why. @public */
export interface RequestCancelInput {
  readonly runId: string;
  readonly reason: string;
}

/** What a run for the queue may be told. */
export const enqueueNames: readonly (keyof EnqueueInput)[] = [
  "runId",
  "availableAt",
  "priority",
  "affinity",
  "parent",
  "input",
  "reclaimsMax",
  "claim",
];

/** `EnqueueInput` with its input as content. */
export type EnqueueParsed = Omit<EnqueueInput, "input"> & { readonly input: ContentValue | undefined };

/** `ClaimNextInput` with its exclusions. */
export type ClaimNextParsed = ClaimWish & {
  readonly exclude: readonly string[];
  readonly runId: string | undefined;
};

export function parseEnqueue(given: EnqueueInput): EnqueueParsed {
  const input = members(given, "enqueue", enqueueNames);
  return {
    runId: parseRunId(input["runId"], "enqueue.runId"),
    availableAt: optional(input["availableAt"], (value) => parseTime(value, "enqueue.availableAt")),
    priority: optional(input["priority"], (value) =>
      parseInteger(value, "enqueue.priority", -priorityMax, priorityMax),
    ),
    affinity: optional(input["affinity"], (value) => parseLabel(value, "enqueue.affinity")),
    parent: optional(input["parent"], (value) => parseRunId(value, "enqueue.parent")),
    input: optional(input["input"], (value) => parseInput(value, "enqueue.input")),
    reclaimsMax: optional(input["reclaimsMax"], (value) =>
      parseInteger(value, "enqueue.reclaimsMax", 0, reclaimsMaxMax),
    ),
    claim: optional(input["claim"], (value) => parseClaim(value, "enqueue.claim")),
  };
}

export function parseClaimNext(given: ClaimNextInput): ClaimNextParsed {
  const input = members(given, "claimNext", ["holder", "leaseMs", "tokenHash", "exclude", "runId"]);
  const { exclude = [], runId, ...claim } = input;
  return {
    ...parseClaim(claim, "claimNext"),
    exclude: parseExclusions(exclude, "claimNext.exclude"),
    runId: optional(runId, (value) => parseRunId(value, "claimNext.runId")),
  };
}

export function parseRenew(given: RenewInput): RenewInput {
  const input = members(given, "renew", ["runId", "leaseMs"]);
  return {
    runId: parseRunId(input["runId"], "renew.runId"),
    leaseMs: parseLease(input["leaseMs"], "renew.leaseMs"),
  };
}

export function parsePark(given: ParkInput): ParkInput {
  const input = members(given, "park", ["runId", "availableAt", "reason"]);
  const { availableAt } = input;
  return {
    runId: parseRunId(input["runId"], "park.runId"),
    availableAt: availableAt === null ? null : optional(availableAt, (value) => parseTime(value, "park.availableAt")),
    reason: optional(input["reason"], (value) => parseReason(value, "park.reason")),
  };
}

export function parseComplete(given: CompleteInput): CompleteInput {
  return {
    runId: parseRunId(members(given, "complete", ["runId"])["runId"], "complete.runId"),
  };
}

export function parseRelease(given: ReleaseInput): ReleaseInput {
  const input = members(given, "release", ["runId", "reason"]);
  return {
    runId: parseRunId(input["runId"], "release.runId"),
    reason: optional(input["reason"], (value) => parseReason(value, "release.reason")),
  };
}

export function parseRequeue(given: RequeueInput): RequeueInput {
  const input = members(given, "requeue", ["runId", "availableAt", "reason", "failuresMax"]);
  return {
    runId: parseRunId(input["runId"], "requeue.runId"),
    availableAt: optional(input["availableAt"], (value) => parseTime(value, "requeue.availableAt")),
    reason: optional(input["reason"], (value) => parseReason(value, "requeue.reason")),
    failuresMax: optional(input["failuresMax"], (value) => parseInteger(value, "requeue.failuresMax", 0)),
  };
}

export function parseRequestCancel(given: RequestCancelInput): RequestCancelInput {
  const input = members(given, "requestCancel", ["runId", "reason"]);
  return {
    runId: parseRunId(input["runId"], "requestCancel.runId"),
    reason: parseReason(input["reason"], "requestCancel.reason"),
  };
}

function parseLease(value: unknown, path: string): number {
  return parseInteger(value, path, 1, leaseMsMax);
}

function parseClaim(value: unknown, path: string): ClaimWish {
  const { holder, leaseMs, tokenHash } = members(value, path, ["holder", "leaseMs", "tokenHash"]);
  if (!isDigest(tokenHash))
    throw invalid(`${path}.tokenHash`, "the SHA-256 of a token, 64 lower-case hex digits", tokenHash);
  return { holder: parseLabel(holder, `${path}.holder`), leaseMs: parseLease(leaseMs, `${path}.leaseMs`), tokenHash };
}

function parseExclusions(value: unknown, path: string): readonly string[] {
  if (!isList(value)) throw invalid(path, "a list of run ids", value);
  if (value.length > exclusionsMax) throw limit(path, "run ids", exclusionsMax, value.length);
  return Array.from(value, (each, index) => parseRunId(each, `${path}[${index}]`));
}
