/** The output of a command on its way into the ledger and on to whoever reads it.
 *  Invariants: what was read is passed on and recorded in the order in which it was read, and counted where it is read and
 *  where it is recorded, so that both can be compared; one batch is on its way at a time; when so much is on its way, or
 *  the reader is behind, nothing more is read, and the command waits; after a batch that cannot be recorded nothing is, and
 *  the output still goes on.
 *  Source: decision 0027. */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { Readable } from "node:stream";
import { LineCutter } from "./line-cutter.js";
import type { CutLine } from "./line-cutter.js";
import type { Outlet } from "./outlet.js";

export type OutputName = "stdout" | "stderr";

export interface OutputRecord {
  readonly type: OutputName;
  readonly payload: string | Uint8Array;
  readonly partial?: true;
}

/** Records a batch, of which the first has the number `from`. What it throws ends the capture. */
export type RecordBatch = (from: number, records: readonly OutputRecord[]) => Promise<void>;

export interface Counted {
  readonly lines: number;
  /** As they came: with the line feeds. */
  readonly bytes: number;
}

const onItsWayBytesMax = 4 * 1024 * 1024;
const batchBytesMax = 1024 * 1024;
const batchRecordsMax = 1_000;
/** What a record takes beside its bytes, in memory. */
const recordBytes = 256;
const openMsDefault = 2_000;
const lookAgainMs = 50;
/** More than what pipes hold: behind it comes what was written after the command had ended. */
const inPipesBytesMax = 1024 * 1024;

interface Waiting {
  readonly record: OutputRecord;
  /** As it came. */
  readonly bytes: number;
}

export class Capture {
  /** Why it ended before the output did. */
  failure: Error | null = null;
  private readonly record: RecordBatch;
  private readonly waiting: Waiting[] = [];
  private readonly streams: Readable[] = [];
  private readonly reads: Promise<void>[] = [];
  private onItsWay = 0;
  private sending: Promise<void> | null = null;
  private readonly roomWanted: (() => void)[] = [];
  /** Chunks that were read and are not passed on yet. */
  private busy = 0;
  private hasLeft = false;
  private readonly counted = { received: { lines: 0, bytes: 0 }, recorded: { lines: 0, bytes: 0 } };

  constructor(record: RecordBatch) {
    this.record = record;
  }

  get received(): Counted {
    return { ...this.counted.received };
  }

  get recorded(): Counted {
    return { ...this.counted.recorded };
  }

  /** Reads an output from now on. */
  read(type: OutputName, stream: Readable, outlet: Outlet): void {
    this.streams.push(stream);
    this.reads.push(this.readAll(type, stream, outlet));
  }

  /** Waits until the outputs have ended and all is recorded. Called when the command has ended: what is still open after a while was
   *  inherited by something that goes on without it. True: there was such a thing. */
  async finish(openMs: number = openMsDefault): Promise<boolean> {
    const ended = new AbortController();
    const all = Promise.all(this.reads).then(() => ended.abort());
    const left = await this.leaveWhenIdle(openMs, ended.signal);
    await all;
    while (this.sending !== null) await this.sending;
    return left;
  }

  private async readAll(type: OutputName, stream: Readable, outlet: Outlet): Promise<void> {
    const cutter = new LineCutter((line) => this.take(type, line));
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        this.busy++;
        this.counted.received.bytes += chunk.length;
        cutter.push(chunk);
        await outlet.write(chunk);
        await this.room();
        this.busy--;
      }
    } catch (error) {
      // One that is left open is closed by us, which the stream tells as an error.
      if (!this.hasLeft) this.fail(error);
    }
    cutter.end();
  }

  /** Stops reading what nobody will end. What has come is read before, however long it takes to pass it on. */
  private async leaveWhenIdle(openMs: number, ended: AbortSignal): Promise<boolean> {
    await sleep(openMs, undefined, { signal: ended }).catch(ignore);
    const last = this.counted.received.bytes + inPipesBytesMax;
    while (!ended.aborted) {
      const { bytes } = this.counted.received;
      // When this process itself stood still, its timers come before what it has to read.
      await turn();
      await turn();
      const now = this.counted.received.bytes;
      const isIdle = this.busy === 0 && now === bytes;
      if (!ended.aborted && (isIdle || now > last)) {
        this.hasLeft = true;
        for (const stream of this.streams) stream.destroy();
        return true;
      }
      await sleep(lookAgainMs, undefined, { signal: ended }).catch(ignore);
    }
    return false;
  }

  private take(type: OutputName, { payload, bytes, partial }: CutLine): void {
    this.counted.received.lines++;
    if (this.failure !== null) return;
    this.waiting.push({
      record: { type, payload, ...(partial && { partial }) },
      bytes: partial ? bytes : bytes + 1,
    });
    this.onItsWay += bytes + recordBytes;
    this.sending ??= this.send();
  }

  private async send(): Promise<void> {
    // What comes in the same turn goes along.
    await turn();
    while (this.waiting.length > 0 && this.failure === null) {
      const batch = this.nextBatch();
      try {
        await this.record(
          this.counted.recorded.lines + 1,
          batch.map(({ record }) => record),
        );
      } catch (error) {
        this.fail(error);
        break;
      }
      this.counted.recorded.lines += batch.length;
      for (const { record, bytes } of batch) {
        this.counted.recorded.bytes += bytes;
        this.onItsWay -= bytes - (record.partial === true ? 0 : 1) + recordBytes;
      }
      this.giveRoom();
    }
    this.sending = null;
  }

  private nextBatch(): readonly Waiting[] {
    let [count, bytes] = [0, 0];
    for (const { bytes: size } of this.waiting) {
      if (count === batchRecordsMax || (count > 0 && bytes + size > batchBytesMax)) break;
      count++;
      bytes += size;
    }
    return this.waiting.splice(0, count);
  }

  private fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error("the output could not be recorded", { cause: error });
    this.waiting.length = 0;
    this.onItsWay = 0;
    this.giveRoom();
  }

  private async room(): Promise<void> {
    while (this.onItsWay >= onItsWayBytesMax) await new Promise<void>((resolve) => this.roomWanted.push(resolve));
  }

  private giveRoom(): void {
    for (const resolve of this.roomWanted.splice(0)) resolve();
  }
}

function ignore(): void {}
