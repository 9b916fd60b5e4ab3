/** `fence.refused` on `fence/<key>`: somebody tried to write under a claim that was not its own any more.
 *  Invariants: only of a key that was claimed and a generation that was issued; once for each key, generation and command;
 *  in a tx of its own, without a `fence`. Source: decision 15.9, decision 0022. */
import type { FenceReason } from "../../kernel/claim.js";

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

/** The stream that holds the refusals of one claim key. */
export function fenceStream(key: string): string {
  return `${fenceKind}/${key}`;
}
