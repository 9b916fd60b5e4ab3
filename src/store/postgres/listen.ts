/** Hints between processes that a journal goes on: LISTEN on a connection of its own, and NOTIFY behind commits: outside of the
 *  transaction that committed, for those with a NOTIFY commit one after the other, in all journals of the server. They come by a
 *  channel of the journal, with the position as payload; anybody may send there, so a hint is a number and nothing else.
 *  Invariants: a connection is there while somebody listens, and for a moment afterwards; it keeps no process alive; one that
 *  is lost, or is none because a pooler lies in between, costs hints and nothing else. */
import { setTimeout as pause } from "node:timers/promises";
import { sha256Hex } from "../../kernel/digest.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";

const reconnectMsMin = 100;
const reconnectMsMax = 10_000;
/** Whoever waits in turns, as a subscription does, gets the same connection again. */
const lingerMsDefault = 5_000;

type Hint = (position: number) => void;

/** A name of the server's for the channel of a journal: of one length, whatever the schema is called. */
export function channelOf(schema: string): string {
  return `runledger_${sha256Hex(schema).slice(0, 32)}`;
}

export class Listening {
  private readonly connecting: ConnectionOptions;
  private readonly channel: string;
  private readonly lingerMs: number;
  private readonly hints = new Set<{ readonly hint: Hint }>();
  /** What was said last: whoever begins to listen may have missed it on the way here. */
  private last: number | null = null;
  private attending: AbortController | null = null;
  private lingering: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(connecting: ConnectionOptions, channel: string, lingerMs: number = lingerMsDefault) {
    this.connecting = connecting;
    this.channel = channel;
    this.lingerMs = lingerMs;
  }

  /** Calls `hint` at each hint; answers how to hear no more. */
  listen(hint: Hint): () => void {
    if (this.closed) return () => {};
    const listener = { hint };
    this.hints.add(listener);
    clearTimeout(this.lingering);
    if (this.last !== null) hint(this.last);
    if (this.attending === null) {
      this.attending = new AbortController();
      void this.stayConnected(this.attending.signal);
    }
    return () => {
      this.hints.delete(listener);
      if (this.hints.size > 0) return;
      clearTimeout(this.lingering);
      this.lingering = setTimeout(() => this.end(), this.lingerMs).unref();
    };
  }

  /** Ends it; nobody hears anything any more. The connection goes by itself, be it still on its way. */
  close(): void {
    this.closed = true;
    this.hints.clear();
    this.end();
  }

  private end(): void {
    clearTimeout(this.lingering);
    this.attending?.abort();
    this.attending = null;
  }

  private async stayConnected(stop: AbortSignal): Promise<void> {
    for (let reconnectMs = reconnectMsMin; !stop.aborted;) {
      if (await this.hearOut(stop)) reconnectMs = reconnectMsMin;
      await pause(reconnectMs, undefined, { signal: stop, ref: false }).catch(() => {});
      reconnectMs = Math.min(2 * reconnectMs, reconnectMsMax);
    }
  }

  /** Listens until the connection is lost or no longer wanted. Was there one? */
  private async hearOut(stop: AbortSignal): Promise<boolean> {
    this.last = null;
    let connection: Connection | null = null;
    let onAbort = (): void => {};
    try {
      connection = await Connection.open(this.connecting, "reads");
      if (stop.aborted) return true;
      const open = connection;
      open.onNotification((_, payload) => this.heard(payload));
      await open.command(`LISTEN ${this.channel}`);
      await new Promise<void>((resolve) => {
        onAbort = resolve;
        open.onFailure(resolve);
        stop.addEventListener("abort", onAbort);
        if (stop.aborted || open.broken) resolve(); // it was while LISTEN was on its way
      });
      return true;
    } catch {
      return false;
    } finally {
      stop.removeEventListener("abort", onAbort); // it outlives many connections
      void connection?.close();
    }
  }

  private heard(payload: string): void {
    if (!/^\d{1,15}$/.test(payload)) return;
    this.last = Number(payload);
    for (const { hint } of this.hints) hint(this.last);
  }
}
