/** Receipts as they were written: read, compared, and turned into the answers that the first callers got.
 *  Invariant: what is adopted is read from the journal alone; nothing is decided or written again. */
import { invariant, LedgerError } from "../kernel/errors.js";
import type { JsonValue } from "../kernel/canonical.js";
import { contentDigest } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { journalKind } from "../journal/events/journal.js";
import { clientOf, parseClient, parseCommandId, parseReceipt, receiptType } from "../journal/events/receipt.js";
import type { ReceiptRecorded, RecordedRefusal } from "../journal/events/receipt.js";
import { fingerprint } from "../journal/fingerprint.js";
import { decodeStored } from "../journal/stored.js";
import type { DecodedEntry } from "../journal/stored.js";
import type { Store, StoredContent, StoredEntry } from "../journal/store.js";
import { kindOf } from "../kernel/names.js";
import { receiptKey } from "../../projections/receipt.js";
import type { ReceiptPlace } from "../../projections/receipt.js";
import type { Executed } from "./execution.js";
import type { ProjectionReader } from "./projector/reads.js";
import type { CallAnswer } from "./queued-commands.js";
import { withSnapshot } from "./snapshot.js";

/** Where receipts are read from: a snapshot, or a transaction with what its batch has staged. */
export interface ReceiptSource {
  entries(from: number, limit: number): Promise<readonly StoredEntry[]>;
  content(n: number): Promise<StoredContent | null>;
}

/** A receipt as it is stored, with what its fingerprint is checked by. */
export interface StoredReceipt {
  readonly entry: DecodedEntry;
  readonly receipt: ReceiptRecorded;
  readonly salt: Uint8Array | "erased";
}

/** What became of a command, or of a list, that carried an id. @public */
export interface Receipt {
  readonly client: string;
  readonly id: string;
  /** The command; of a list its commands, each once. */
  readonly name: string | readonly string[];
  readonly outcome: "accepted" | "refused";
  /** What it answered, one element a command: one, but for a list; undefined where that is nothing. Empty when it was
   *  refused. */
  readonly results: readonly (JsonValue | undefined)[];
  /** Why it was refused; null when it was accepted. */
  readonly refusal: RecordedRefusal | null;
  /** The digest over name and input, or that nobody can check it any more. */
  readonly fingerprint: string;
  /** The salt of the fingerprint; erasing it alone makes the fingerprint worthless. */
  readonly salt: ContentReference;
  /** Position of the receipt: the last of its tx. */
  readonly position: number;
  /** Position of the first entry of its tx. */
  readonly first: number;
  /** The number of entries of its tx, the receipt included. */
  readonly count: number;
  /** Engine time, ms since the epoch. */
  readonly at: number;
}

/** Reads the receipt that stands at a place. */
export async function readReceipt({ position }: ReceiptPlace, source: ReceiptSource): Promise<StoredReceipt> {
  const [stored] = await source.entries(position, 1);
  const entry = stored === undefined ? null : decodeStored(stored);
  if (entry?.fields.type !== receiptType) {
    const message = `the entry at position ${position} must be a receipt, found ${entry?.fields.type ?? "nothing"}`;
    throw damaged(message, { position });
  }
  const receipt = parseReceipt(entry.fields.data);
  const { n, $content: digest } = receipt.salt;
  const content = await source.content(n);
  const details = { position, ...receipt.salt };
  if (content === null || content.digest !== digest)
    throw damaged(
      `content ${n} of receipt #${position} must be stored, found ${content?.digest ?? "nothing"}`,
      details,
    );
  if ("erased" in content) return { entry, receipt, salt: "erased" };
  if (contentDigest(content.media, content.salt, content.bytes) !== digest)
    throw damaged(`content ${n} of receipt #${position} must hash to its digest, found other bytes`, details);
  return { entry, receipt, salt: content.bytes };
}

/** A call, as far as it must be the same when its id comes again. */
export interface SameCall {
  readonly client: string;
  readonly id: string;
  readonly name: string | readonly string[];
  /** What the fingerprint covers. */
  readonly text: string;
}

/** The receipt of an id, as hosts see it; null when there is none. */
export async function findReceipt(
  id: string,
  client: string,
  { documents, store }: { readonly documents: ProjectionReader<ReceiptPlace>; readonly store: Store },
): Promise<Receipt | null> {
  const place = await documents.get(receiptKey(parseClient(client, "client"), parseCommandId(id, "id")));
  if (place === null) return null;
  return withSnapshot(store, async (reads) => {
    const source = {
      entries: (from: number, limit: number) => reads.entries(from, limit),
      content: async (n: number) => (await reads.contents([n]))[0] ?? null,
    };
    return showReceipt(await readReceipt(place, source));
  });
}

/** The refusal of a call that is another one than that of the receipt; null when it is the same. Once the salt is erased, the id
 *  alone decides. */
export function conflictOf(
  { client, id, name, text }: SameCall,
  { entry, receipt, salt }: StoredReceipt,
): LedgerError | null {
  if (salt === "erased" || fingerprint(text, salt) === receipt.fingerprint) return null;
  const position = entry.fields.seq;
  const first = nameOf(receipt);
  const [was, is] = [sayName(first), sayName(name)];
  return new LedgerError(
    "IDEMPOTENCY_CONFLICT",
    `the id ${JSON.stringify(id)} of client ${client} must come with what it first came with, ${was} at #${position}, ` +
      `found ${is === was ? "another input" : is}`,
    { details: { client, id, first, found: name, position }, hint: "give a new command a new id" },
  );
}

/** What the first caller was told. */
export async function tellReceipt(
  stored: StoredReceipt,
  source: ReceiptSource,
): Promise<{ readonly answer: CallAnswer } | { readonly error: LedgerError }> {
  const { receipt, salt } = stored;
  const erased = salt === "erased" ? ({ fingerprint: "erased" } as const) : {};
  if (receipt.refusal === undefined)
    return {
      answer: { ...(await whatWasWritten(stored, source)), results: resultsOf(receipt), adopted: true, ...erased },
    };
  const { code, message, details, index } = receipt.refusal;
  const said = index === undefined ? details : { ...details, index };
  return { error: new LedgerError(code, message, { details: said, adopted: true }) };
}

/** What the tx of a receipt wrote, without the engine's own entries where events are counted one by one. */
async function whatWasWritten({ entry }: StoredReceipt, source: ReceiptSource): Promise<Omit<Executed, "adopted">> {
  const { tx, at } = entry.fields;
  const [first, count] = tx;
  const revisions = new Map<string, number>();
  const ids: string[] = [];
  for (const stored of count === 1 ? [] : await source.entries(first, count - 1)) {
    const { id, fields } = decodeStored(stored);
    if (kindOf(fields.stream) === journalKind) continue;
    ids.push(id);
    revisions.set(fields.stream, fields.rev);
  }
  const streams = [...revisions].map(([stream, revision]) => ({ stream, revision }));
  return { first, position: first + count - 1, count, at, ids, revision: streams[0]?.revision ?? 0, streams };
}

function resultsOf({ result, results }: ReceiptRecorded): readonly (JsonValue | undefined)[] {
  return results === undefined ? [result] : results.map(([value]) => value);
}

/** The receipt as hosts see it. */
export function showReceipt({ entry, receipt, salt }: StoredReceipt): Receipt {
  const { stream, seq: position, at, tx } = entry.fields;
  return {
    client: clientOf(stream),
    id: receipt.id,
    name: nameOf(receipt),
    outcome: receipt.outcome,
    results: receipt.outcome === "accepted" ? resultsOf(receipt) : [],
    refusal: receipt.refusal ?? null,
    fingerprint: salt === "erased" ? salt : receipt.fingerprint,
    salt: receipt.salt,
    position,
    first: tx[0],
    count: tx[1],
    at,
  };
}

function nameOf({ name, names }: ReceiptRecorded): string | readonly string[] {
  const said = name ?? names;
  invariant(said !== undefined, "a receipt names what was executed");
  return said;
}

function sayName(name: string | readonly string[]): string {
  return typeof name === "string" ? name : `a list of ${name.slice(0, 3).join(", ")}${name.length > 3 ? ", …" : ""}`;
}

function damaged(message: string, details: Readonly<Record<string, unknown>>): LedgerError {
  return new LedgerError("STORE_DAMAGED", message, { details, hint: "run `runledger verify` on it" });
}
