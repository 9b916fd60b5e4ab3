/** Fetches what a command wishes to read, stage by stage, as its tx sees it. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { parseKey } from "../kernel/names.js";
import { parseStage } from "../commands/read.js";
import type { CommandRead, FoundContent, Moment } from "../commands/read.js";
import type { ContentReference } from "../journal/content.js";
import type { AnyProjection, QueryRead } from "../../projections/define-projection.js";
import type { Foreseen, Glimpse } from "./foreseen.js";
import type { Known, Lookups } from "./known.js";
import type { PreparedCommand } from "./prepare-commands.js";
import { onceKnown } from "./once-known.js";
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
  readonly unready: AnyProjection[];
}

/** The reading of one command. */
interface Reading {
  readonly command: PreparedCommand;
  readonly ground: ReadGround;
  readonly moment: Moment;
  /** None, as a rule. */
  salts: FoundAll["salts"];
}

/** So many callers of one batch choose among what one query finds. */
const choicesMax = 64;

const nothing: FoundAll["found"] = Object.freeze({});
const noSalts: FoundAll["salts"] = new Map();

/** Reads all stages, one wish after the other; a promise only when something has to be read. What is thrown refuses the command,
 *  but for a `StoreFailure`. */
export function readAll(command: PreparedCommand, ground: ReadGround): Promise<FoundAll> | FoundAll {
  return readStages({ command, ground, moment: Object.freeze({ at: ground.tx.at }), salts: noSalts }, 0, nothing);
}

/** Says what the stages of a command will read, as far as what is known leads; answers what they find when all of that is known, and
 *  null otherwise. What a stage throws here it throws again when the command is decided, which refuses it then. */
export function foreseeReads(
  { definition, input, path }: PreparedCommand,
  foreseen: Foreseen,
): FoundAll["found"] | null {
  const glimpse = foreseen.choosing.has(definition) ? null : foreseen.glimpse;
  const moment = Object.freeze({ at: foreseen.at });
  let found = nothing;
  try {
    for (const stage of definition.reads) {
      const next = { ...found };
      let isKnown = true;
      for (const [name, wish] of parseStage(stage(input as never, found as never, moment), path)) {
        const value = wish === null ? null : foreseeWish(wish, glimpse, foreseen);
        if (value === undefined) isKnown = false;
        next[name] = value;
      }
      if (!isKnown) return null;
      found = Object.freeze(next);
    }
    return found;
  } catch {
    return null;
  }
}

/** What a wish finds; undefined where that is not known. */
function foreseeWish(wish: CommandRead, glimpse: Glimpse | null, foreseen: Foreseen): unknown {
  switch (wish.read) {
    case "document": {
      if (wish.key === null) return null;
      const key = parseKey(wish.key, "key");
      foreseen.document(wish.projection, key);
      return glimpse?.get(wish.projection, key);
    }
    case "query":
      foreseen.queries.push(wish);
      if (glimpse === null) return undefined;
      foreseeChoices(wish, glimpse, foreseen);
      return glimpse.find(wish.projection, wish.query);
    case "content":
      if (wish.reference === null) return null;
      foreseen.need({ touched: [], lookups: lookupOf(wish.reference) });
      return undefined;
  }
}

/** What others that ask the same will find when this one has taken what it found. */
function foreseeChoices(wish: QueryRead<object>, glimpse: Glimpse, foreseen: Foreseen): void {
  const query = { ...wish.query, limit: Math.max(wish.query.limit ?? 0, choicesMax) };
  foreseen.queries.push({ ...wish, query });
  const found = glimpse.find(wish.projection, query);
  if (found !== undefined) foreseen.choices.push(found);
}

function readStages(reading: Reading, index: number, found: FoundAll["found"]): Promise<FoundAll> | FoundAll {
  const { definition, input, path } = reading.command;
  const stage = definition.reads[index];
  if (stage === undefined) return { found, salts: reading.salts };
  const at = `${path} reads[${index}]`;
  // What a stage takes is what the stages before it found: the types of the definition say so.
  const wishes = parseStage(stage(input as never, found as never, reading.moment), at);
  for (const [name] of wishes)
    if (Object.hasOwn(found, name)) throw invalid(`${at}.${name}`, "a name that no earlier stage has", name);
  const next = { ...found };
  return onceKnown(fetchAll(reading, wishes, 0, at, next), () => readStages(reading, index + 1, Object.freeze(next)));
}

function fetchAll(
  reading: Reading,
  wishes: readonly (readonly [name: string, CommandRead | null])[],
  start: number,
  at: string,
  found: Record<string, unknown>,
): Promise<void> | undefined {
  for (let index = start; index < wishes.length; index++) {
    const [name, wish] = wishes[index]!;
    const answer = wish === null ? null : fetch(wish, `${at}.${name}`, reading);
    if (answer instanceof Promise)
      return answer.then((value: unknown) => {
        found[name] = value;
        return fetchAll(reading, wishes, index + 1, at, found);
      });
    found[name] = answer;
  }
  return undefined;
}

/** As a rule a document is remembered, and there is no promise. */
function fetch(wish: CommandRead, path: string, reading: Reading): unknown {
  const { ground } = reading;
  switch (wish.read) {
    case "document": {
      if (wish.key === null) return null;
      const key = parseKey(wish.key, `${path} key`);
      return askStore(() => ground.tx.documents.get(wish.projection, key), noteUnready(wish.projection, ground));
    }
    case "query":
      return askStore(
        () => ground.tx.documents.find(wish.projection, wish.query),
        noteUnready(wish.projection, ground),
      );
    case "content":
      return wish.reference === null ? null : findContent(wish.reference, reading);
  }
}

async function findContent(reference: ContentReference, reading: Reading): Promise<FoundContent> {
  const { tx, known } = reading.ground;
  const loading = known.load({ touched: [], lookups: lookupOf(reference) });
  if (loading !== undefined) await ofStore(loading);
  const stored = tx.content(reference.n);
  const isThere = stored !== null && stored.digest === reference.$content;
  const state = !isThere ? "missing" : "erased" in stored ? "erased" : "stored";
  if (isThere || !reading.salts.has(reference.n)) {
    const salt = isThere && !("erased" in stored) ? { digest: stored.digest, salt: stored.salt } : null;
    reading.salts = new Map(reading.salts).set(reference.n, salt);
  }
  return Object.freeze({ reference, state });
}

function lookupOf({ n }: ContentReference): Lookups {
  return { positions: [], endsOf: [], contents: [n], plains: [] };
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
    if (error.code === "NOT_READY") unready.push(projection);
    return true;
  };
}
