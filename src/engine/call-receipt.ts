/** The receipt of one call that carries an id: under the lock it finds what the first call with that id was answered, and it
 *  makes the entry that says what became of this one. Invariant: what is found is told as the first caller was told it.
 *  Source: design section 9, decision 0019. */
import { writeCanonical } from "../kernel/canonical.js";
import type { JsonValue } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import { bytesMedia, contentDigest, ContentValue, isContentValue } from "../journal/content.js";
import { entryTemplate } from "../journal/entry.js";
import { receiptStream, receiptType } from "../journal/events/receipt.js";
import { commandText, contentStandIn, fingerprint, listText } from "../journal/fingerprint.js";
import type { Mint } from "../commands/mint.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { receiptKey, receipts } from "../../projections/receipt.js";
import type { Batch } from "./batch.js";
import { noteUnready } from "./command-reads.js";
import type { Foreseen } from "./foreseen.js";
import type { PreparedCall, PreparedCommand } from "./prepare-commands.js";
import type { PendingContent, PreparedEvent } from "./prepare-event.js";
import type { AcceptedCall, CallAnswer, CallReceipt, RefusedCall } from "./queued-commands.js";
import { conflictOf, readReceipt, tellReceipt } from "./receipts.js";
import type { ReceiptSource } from "./receipts.js";
import { askStore, ofStore } from "./store-failure.js";
import type { Tx } from "./tx.js";

export class ReceiptOfCall implements CallReceipt {
  private readonly call: PreparedCall;
  private readonly id: string;
  private said: string | undefined;

  constructor(call: PreparedCall, id: string) {
    this.call = call;
    this.id = id;
  }

  foresee(foreseen: Foreseen): void {
    const { client } = this.call;
    foreseen.document(receipts, receiptKey(client, this.id));
    foreseen.stream(receiptStream(client));
  }

  async find(
    batch: Batch,
    unready: AnyProjection[],
  ): Promise<{ readonly answer: CallAnswer } | { readonly error: LedgerError } | null> {
    const { client } = this.call;
    const tx = batch.open();
    const key = receiptKey(client, this.id);
    const place = await askStore(() => tx.documents.get(receipts, key), noteUnready(receipts, { unready }));
    if (place === null) return null;
    const source = sourceOf(batch, tx);
    const first = await ofStore(readReceipt(place, source), isDamage);
    const { id, name, text } = this;
    const error = conflictOf({ client, id, name, text }, first);
    return error === null ? await ofStore(tellReceipt(first, source), isDamage) : { error };
  }

  event(outcome: AcceptedCall | RefusedCall, mint: Mint): PreparedEvent {
    const { client } = this.call;
    // A receipt is no write of the holder's: that of a refused fence would be one without its claim.
    const labels = { ...this.call.labels, fence: undefined };
    const stream = receiptStream(client);
    const salt = pendingSalt(mint.salt(), mint.salt());
    const data = {
      id: this.id,
      ...(typeof this.name === "string" ? { name: this.name } : { names: this.name }),
      fingerprint: fingerprint(this.text, salt.bytes),
      salt: salt.value,
      ...this.outcome(outcome),
    };
    return {
      stream,
      type: receiptType,
      version: 1,
      labels,
      path: "receipt",
      template: entryTemplate(stream, receiptType, 1, labels),
      segments: writeCanonical(data, { path: "receipt", take: isContentValue }),
      contents: [salt],
      references: [],
    };
  }

  /** The command; of a list its commands, each once. */
  private get name(): string | readonly string[] {
    const names = this.call.commands.map(({ definition }) => definition.name);
    return this.call.isList ? [...new Set(names)] : names[0]!;
  }

  /** What the fingerprint covers. */
  private get text(): string {
    if (this.said !== undefined) return this.said;
    const texts = this.call.commands.map((command) => commandText(command.definition.name, inputText(command)));
    return (this.said = this.call.isList ? listText(texts) : texts[0]!);
  }

  private outcome(call: AcceptedCall | RefusedCall): object {
    if (call.type === "refused") {
      const { code, details, message, index } = call;
      return { outcome: "refused", refusal: { code, details, message, index: index ?? undefined } };
    }
    const results = call.results.map((text) => (text === undefined ? [] : [JSON.parse(text) as JsonValue]));
    return { outcome: "accepted", ...(this.call.isList ? { results } : { result: results[0]![0] }) };
  }
}

/** A receipt that is not as it was written is the trouble of who sends its id, and of nobody else in the batch. */
function isDamage(error: unknown): boolean {
  return error instanceof LedgerError && (error.code === "STORE_DAMAGED" || error.code === "SCHEMA_UNKNOWN");
}

function inputText({ input, segments, contents }: PreparedCommand): string | null {
  if (input === undefined) return null;
  const standIns = contents.map((content) => contentStandIn(content.media, ContentValue.bytesOf(content)!));
  return segments.map((segment, index) => segment + (standIns[index] ?? "")).join("");
}

function pendingSalt(bytes: Uint8Array, salt: Uint8Array): PendingContent {
  const value = new ContentValue(bytesMedia, bytes);
  return { value, media: bytesMedia, bytes, salt, digest: contentDigest(bytesMedia, salt, bytes), plain: null };
}

/** What the batch has staged, and before it what is stored. */
function sourceOf({ entries, known }: Batch, tx: Tx): ReceiptSource {
  const staged = entries[0]?.seq ?? Infinity;
  return {
    // A tx is staged or stored as a whole.
    entries: async (from, limit) =>
      from < staged ? known.entries(from, limit) : entries.slice(from - staged, from - staged + limit),
    content: (n) => tx.wholeContent(n),
  };
}
