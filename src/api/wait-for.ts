/** Waiting until documents are as somebody wants them, whoever writes them: read, ask, wait for the journal to go on, read again.
 *  Invariants: what a wait resolves with was read at one position, not older than the call; when it has ended nothing of it
 *  is left behind, no timer and no listener. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { abandon, isThenable } from "../kernel/promises.js";
import type { DocumentRead, FoundDocuments, QueryRead } from "../../projections/define-projection.js";
import { AbortWatch } from "../engine/abort-watch.js";
import { isPassing } from "../engine/begin.js";
import { closed } from "../engine/closed.js";
import type { Engine } from "../engine/engine.js";

/** How long to wait. @public */
export interface WaitForOptions {
  /** Gives it up (`ABORTED`). */
  readonly signal?: AbortSignal;
  /** Gives it up after so many ms, 1 to 2^31 − 1 (`NOT_READY`, with `details.timeoutMs`). Default: never. */
  readonly timeoutMs?: number;
}

/** What may be waited for: `projection.get(key)` or `projection.find(query)`. */
export type WaitRead<Document extends object> = DocumentRead<Document> | QueryRead<Document>;

/** What such a read finds. */
export type Waited<Document extends object> = Document | null | FoundDocuments<Document>;

/** Documents of an async projection come behind the journal, and nobody says when. */
const asyncPollMs = 50;
const troubleMs = 100;

/** One wait, and what ended it before it found what it waits for. */
class Wait {
  readonly giveUp = new AbortController();
  error: LedgerError | null = null;
  /** Ends what it waits for just now. */
  wake = (): void => {};

  end(error: LedgerError): void {
    this.error ??= error;
    this.giveUp.abort();
    this.wake();
  }
}

export class DocumentWaits {
  private readonly engine: Engine;
  private readonly waiting = new Set<Wait>();
  private readonly aborts = new AbortWatch<Wait>((wait, signal) => wait.end(aborted(signal)));
  private closed = false;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Resolves with what the read finds once the predicate holds for it. */
  async for<Document extends object>(
    read: WaitRead<Document>,
    predicate: (found: never) => boolean,
    options: WaitForOptions,
  ): Promise<Waited<Document>> {
    const look = this.parseRead(read);
    if (typeof predicate !== "function") throw invalid("predicate", "a function", predicate);
    checkMembers(options, "options", ["signal", "timeoutMs"]);
    const { signal, timeoutMs } = options;
    checkSignal(signal, "options.signal");
    if (timeoutMs !== undefined) parseInteger(timeoutMs, "options.timeoutMs", 1, 2 ** 31 - 1);
    if (this.closed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    const wait = new Wait();
    this.waiting.add(wait);
    if (signal !== undefined) this.aborts.add(wait, signal);
    const timer =
      timeoutMs === undefined
        ? null
        : this.engine.options.clock.schedule(timeoutMs, () => wait.end(timedOut(read.projection.name, timeoutMs)));
    try {
      return await this.until(wait, look, predicate, read.projection.async);
    } finally {
      timer?.cancel();
      this.waiting.delete(wait);
      if (signal !== undefined) this.aborts.delete(wait, signal);
    }
  }

  /** Ends all of them. */
  close(): void {
    this.closed = true;
    for (const wait of this.waiting) wait.end(closed());
  }

  private parseRead<Document extends object>(
    read: WaitRead<Document>,
  ): (signal: AbortSignal) => Promise<Waited<Document>> {
    const expected = "projection.get(key) or projection.find(query)";
    checkMembers(read, "read", ["read", "projection", "key", "query"]);
    const reader = this.engine.projection(read.projection);
    if (read.read === "query") {
      const { query } = read;
      return (signal) => reader.find(query, { signal });
    }
    const { key } = read;
    if (read.read !== "document" || key === null) throw invalid("read", expected, key);
    return (signal) => reader.get(key, { signal });
  }

  private async until<Document extends object>(
    wait: Wait,
    look: (signal: AbortSignal) => Promise<Waited<Document>>,
    predicate: (found: never) => boolean,
    isAsync: boolean,
  ): Promise<Waited<Document>> {
    const { heads } = this.engine;
    while (wait.error === null) {
      let position: number;
      let found: Waited<Document>;
      try {
        position = await heads.readHead();
        found = await look(wait.giveUp.signal);
      } catch (error) {
        if (wait.error !== null) break;
        if (!isPassing(error)) throw error;
        await this.pause(wait, null, troubleMs);
        continue;
      }
      if (holds(predicate, found)) return found;
      await this.pause(wait, position, isAsync ? asyncPollMs : null);
    }
    throw wait.error;
  }

  /** Until the journal goes on behind a position, a time is over, or the wait has ended. */
  private async pause(wait: Wait, position: number | null, ms: number | null): Promise<void> {
    if (wait.error !== null) return;
    const { heads, options } = this.engine;
    const ends: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      wait.wake = resolve;
      if (position !== null) ends.push(heads.wait(position, resolve));
      if (ms !== null) {
        const timer = options.clock.schedule(ms, resolve);
        ends.push(() => timer.cancel());
      }
    });
    for (const end of ends) end();
  }
}

function holds(predicate: (found: never) => boolean, found: unknown): boolean {
  // What the read finds is what the predicate takes: the types of `waitFor` say so.
  const answer: unknown = predicate(found as never);
  if (isThenable(answer)) {
    abandon(answer);
    throw invalid("predicate", "synchronous", "a promise");
  }
  if (typeof answer !== "boolean") throw invalid("predicate", "a function that answers true or false", answer);
  return answer;
}

function aborted(signal: AbortSignal): LedgerError {
  return new LedgerError("ABORTED", "the wait for documents was given up", { cause: signal.reason });
}

function timedOut(projection: string, timeoutMs: number): LedgerError {
  return new LedgerError(
    "NOT_READY",
    `documents of ${projection} must be as they are waited for within ${timeoutMs} ms, found them otherwise`,
    { details: { projection, timeoutMs } },
  );
}
