import { invalid } from "../kernel/errors.js";
import type { Content, ContentReference } from "../journal/content.js";
import type { Engine } from "../engine/engine.js";
import type { Reading } from "../engine/reading.js";
import type {
  AppendOptions,
  AppendResult,
  LedgerStatus,
  NewEvent,
  ReadOptions,
  ReadStreamOptions,
  StreamAppend,
} from "../engine/types.js";
import { verify } from "../forensic/verify.js";
import type { VerifyOptions, VerifyReport } from "../forensic/verify.js";

/** An open ledger: append, read, verify. Made by `openLedger`. @public */
export class Ledger {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** The identity of the journal, from its first entry. */
  get origin(): string {
    return this.engine.origin;
  }

  /** Appends events to one stream, or to several at once, atomically. Resolves when they are durable; many appends share
   *  one commit. Refusals: `INVALID_ARGUMENT` and `LIMIT_EXCEEDED` (with the path), `REVISION_CONFLICT` (a stream is not
   *  as `expected` or `require` say), `OVERLOADED`, `CLOCK_UNSURE`, `SCHEMA_UNKNOWN` (an area that this program does not
   *  know), `READ_ONLY`, `CLOSED`, `ABORTED`; failures of the store: `STORE_…`. After any of them nothing was written,
   *  but for `STORE_IN_DOUBT`, after which all of it may have been. */
  append(stream: string, events: readonly NewEvent[], options?: AppendOptions): Promise<AppendResult>;
  append(appends: readonly StreamAppend[], options?: Omit<AppendOptions, "expected">): Promise<AppendResult>;
  async append(
    target: string | readonly StreamAppend[],
    eventsOrOptions?: readonly NewEvent[] | Omit<AppendOptions, "expected">,
    options?: AppendOptions,
  ): Promise<AppendResult> {
    if (Array.isArray(target)) return this.engine.append(target, (eventsOrOptions as AppendOptions | undefined) ?? {});
    if (typeof target !== "string") throw invalid("append", "a stream or a list of appends", target);
    return this.engine.append([{ stream: target, events: eventsOrOptions as readonly NewEvent[] }], options ?? {});
  }

  /** The events of the whole journal in order, or what the filters let through, up to the head at the time it starts. */
  read(options: ReadOptions = {}): Reading {
    return this.engine.read(options);
  }

  /** The events of one stream in order, up to its last at the time it starts; none when the stream does not exist. */
  readStream(stream: string, options: ReadStreamOptions = {}): Reading {
    return this.engine.readStream(stream, options);
  }

  /** A content by the reference that an event holds. `CONTENT_ERASED`: it was erased, by the event named in the details.
   *  `CONTENT_MISSING`: this journal does not have it. `STORE_DAMAGED`: the bytes are not those that were written. */
  async content(reference: ContentReference): Promise<Content> {
    return this.engine.content(reference);
  }

  /** How the ledger is: its identity, its head, its clock, its queue, its store. */
  async status(): Promise<LedgerStatus> {
    return this.engine.status();
  }

  /** Checks what is stored, by the code that `runledger verify` uses. Reads one snapshot; writers go on. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const reader = await this.engine.raw();
    try {
      // The files of an open ledger change with the next append: their hashes are worth their time only to who asks.
      return await verify(reader, { evidence: false, ...options });
    } finally {
      await reader.close();
    }
  }

  /** Waits for what is queued, folds the write-ahead log into the file when this was its last user, and ends.
   *  Closing twice is a no-op. A store that was handed to `openLedger` stays open. */
  close(): Promise<void> {
    return this.engine.close();
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
