/** Fetches what a command wishes to read, stage by stage, as its tx sees it. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { parseKey } from "../kernel/names.js";
import { parseStage } from "../commands/read.js";
import type { CommandRead, FoundContent } from "../commands/read.js";
import type { ContentReference } from "../journal/content.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { Known } from "./known.js";
import type { PreparedCommand } from "./prepare-commands.js";
import { isDamagedDocument } from "./projector/stored-document.js";
import { askStore, ofStore } from "./store-failure.js";
import type { Tx } from "./tx.js";

/** What the stages of a command found. */
export interface FoundAll {
  readonly found: Readonly<Record<string, unknown>>;
  /** For `sameContent`: null where a content is erased, or not of this journal. */
  readonly salts: ReadonlyMap<number, { readonly digest: string; readonly salt: Uint8Array } | null>;
}

export interface ReadGround {
  readonly tx: Tx;
  readonly known: Known;
  /** Is given the projections whose tables are behind: they can be brought up, and the command decided then. */
  readonly unready: Set<AnyProjection>;
}

/** Reads all stages. What is thrown refuses the command, but for a `StoreFailure`. */
export async function readAll({ definition, input, path }: PreparedCommand, ground: ReadGround): Promise<FoundAll> {
  const salts = new Map<number, { readonly digest: string; readonly salt: Uint8Array } | null>();
  const moment = Object.freeze({ at: ground.tx.at });
  let found: Readonly<Record<string, unknown>> = Object.freeze({});
  for (const [index, stage] of definition.reads.entries()) {
    const at = `${path} reads[${index}]`;
    // What a stage takes is what the stages before it found: the types of the definition say so.
    const wishes = parseStage(stage(input as never, found as never, moment), at);
    const next: Record<string, unknown> = { ...found };
    for (const [name, wish] of wishes) {
      if (Object.hasOwn(found, name)) throw invalid(`${at}.${name}`, "a name that no earlier stage has", name);
      const answer = wish === null ? null : fetch(wish, `${at}.${name}`, ground, salts);
      next[name] = answer instanceof Promise ? await answer : answer;
    }
    found = Object.freeze(next);
  }
  return { found, salts };
}

/** A promise only when something has to be read: as a rule a document is remembered. */
function fetch(
  wish: CommandRead,
  path: string,
  ground: ReadGround,
  salts: Map<number, { readonly digest: string; readonly salt: Uint8Array } | null>,
): unknown {
  switch (wish.read) {
    case "document": {
      if (wish.key === null) return null;
      const key = parseKey(wish.key, `${path} key`);
      return askStore(() => ground.tx.documents.get(wish.projection, key), noteUnready(wish.projection, ground));
    }
    case "query":
      return ofStore(ground.tx.documents.find(wish.projection, wish.query), noteUnready(wish.projection, ground));
    case "content":
      return wish.reference === null ? null : findContent(wish.reference, ground, salts);
  }
}

async function findContent(
  reference: ContentReference,
  { tx, known }: ReadGround,
  salts: Map<number, { readonly digest: string; readonly salt: Uint8Array } | null>,
): Promise<FoundContent> {
  const lookups = { positions: [], endsOf: [], contents: [reference.n], plains: [] };
  const reading = known.load({ touched: [], lookups });
  if (reading !== undefined) await ofStore(reading);
  const stored = tx.content(reference.n);
  const isThere = stored !== null && stored.digest === reference.$content;
  const state = !isThere ? "missing" : "erased" in stored ? "erased" : "stored";
  if (isThere || !salts.has(reference.n))
    salts.set(reference.n, isThere && !("erased" in stored) ? { digest: stored.digest, salt: stored.salt } : null);
  return Object.freeze({ reference, state });
}

const refusing: ReadonlySet<string> = new Set([
  "PROJECTION_FAILED",
  "NOT_READY",
  "SCHEMA_UNKNOWN",
  "INVALID_ARGUMENT",
  "LIMIT_EXCEEDED",
]);

/** Tells what a table answers to the command that reads it, and to nobody else, from a failure of the store. */
export function noteUnready(
  projection: AnyProjection,
  { unready }: Pick<ReadGround, "unready">,
): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof LedgerError)) return false;
    if (!refusing.has(error.code)) return isDamagedDocument(error);
    if (error.code === "NOT_READY") unready.add(projection);
    return true;
  };
}
