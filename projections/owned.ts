/** The part of a document that can be owned: its claim, the generation that outlives every claim, and what was refused to
 *  fences that were not accepted. Reducers of every area with claims share it, and the engine checks fences on it.
 *  Source: design section 8, decisions 15.1 and 15.9. */
import type { Claim } from "../src/kernel/claim.js";
import { isLive } from "../src/kernel/claim.js";
import { refusedNamesMax } from "../src/kernel/limits.js";
import type { ClaimTaken } from "../src/journal/claim-facts.js";
import type { FenceRefused } from "../src/journal/events/fence.js";
import type { EventHandler } from "./define-projection.js";

/** What a document that can be owned has. @public */
export interface OwnedDocument {
  /** That of the last claim, 0 before the first; never lower than it was. */
  generation: number;
  claim: Claim | null;
  /** `<generation> <command>` of each refusal that was recorded, at most 32. Absent: none. */
  refused?: string[];
}

/** Takes the claim that an event says. */
export function take(
  document: OwnedDocument,
  { holder, generation, tokenHash, expiresAt }: ClaimTaken,
  at: number,
): void {
  document.generation = generation;
  document.claim = { holder, generation, tokenHash, acquiredAt: at, expiresAt };
}

/** What a fence that was refused is remembered by. */
export function refusedName(generation: number, command: string): string {
  return `${generation} ${command}`;
}

/** Should the refusal of such a fence be recorded? Only of a generation that was issued, and once. */
export function isNewRefusal({ generation, refused = [] }: OwnedDocument, offered: number, command: string): boolean {
  return offered <= generation && refused.length < refusedNamesMax && !refused.includes(refusedName(offered, command));
}

/** For the `on` of a projection with claims: `fence.refused` of the streams of one kind. */
export function onFenceRefused<Document extends OwnedDocument>(kind: string): EventHandler<Document, FenceRefused> {
  const prefix = `${kind}/`;
  return {
    key: ({ data }) => (data.key.startsWith(prefix) ? data.key.slice(prefix.length) : null),
    apply(document, { data }) {
      if (document === undefined) return;
      (document.refused ??= []).push(refusedName(data.generation, data.command));
    },
  };
}

/** Is it owned at that moment? */
export function isOwned({ claim }: OwnedDocument, at: number): boolean {
  return isLive(claim, at);
}
