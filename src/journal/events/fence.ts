/** `fence.refused` on `fence/<key>`: somebody tried to write under a claim that was not its own any more.
 *  Invariants: only of a key that was claimed and a generation that was issued; once for each key, generation and command;
 *  in a tx of its own, without a `fence`. Source: decision 15.9, decision 0022. */
import type { FenceReason } from "../../kernel/claim.js";
import { invalid } from "../../kernel/errors.js";
import { generationMax } from "../../kernel/limits.js";
import { checkMembers, parseInteger } from "../../kernel/members.js";
import { parseCommandName, parseStream } from "../../kernel/names.js";

export const fenceKind = "fence";
export const fenceRefusedType = "fence.refused";

/** The data of a `fence.refused`. */
export interface FenceRefused {
  readonly key: string;
  /** That of the fence that was presented. */
  readonly generation: number;
  /** The command, or `"append"`. */
  readonly command: string;
  readonly reason: FenceReason;
}

const members = ["key", "generation", "command", "reason"];
/** Those that speak of a claim that was issued. */
const reasons: ReadonlySet<unknown> = new Set<FenceReason>([
  "incarnation",
  "generation",
  "released",
  "token",
  "expired",
]);

/** Reads the data of a `fence.refused`. */
export function parseFenceRefused(data: object): FenceRefused {
  checkMembers(data, "data", members);
  const { key, generation, command, reason } = data as { readonly [name: string]: unknown }; // just seen
  if (!reasons.has(reason)) throw invalid("data.reason", `one of ${[...reasons].join(", ")}`, reason);
  return {
    key: parseStream(key, "data.key"),
    generation: parseInteger(generation, "data.generation", 1, generationMax),
    command: command === "append" ? command : parseCommandName(command, "data.command"),
    reason: reason as FenceReason, // just seen
  };
}

/** The stream that holds the refusals of one claim key. */
export function fenceStream(key: string): string {
  return `${fenceKind}/${key}`;
}
