/** Where the command's output goes on to: what this process was given as standard output or error.
 *  Invariants: bytes go out as they came and in that order; a reader that is slow is waited for, and nothing else of this process
 *  waits with it; one that went away ends the output and nothing more, and once the command is to end so does one that takes
 *  nothing any more. */
import { fstatSync, write } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A stream that may be one of the process itself. */
export type OutletStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly fd?: number };

const againMs = 10;
const lineFeed = 0x0a;

export class Outlet {
  private readonly stream: OutletStream;
  private lastByte = lineFeed;
  private problem: NodeJS.ErrnoException | null = null;
  private patienceMs: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private taken: (() => void) | null = null;

  constructor(stream: OutletStream) {
    this.stream = stream;
  }

  /** Why nothing goes out any more. Null also when its reader just went away, which is the reader's own affair. */
  get failure(): string | null {
    const { code = "", message } = this.problem ?? { message: null };
    return goneCodes.has(code) ? null : message;
  }

  /** Did it end within a line? */
  get isInLine(): boolean {
    return this.lastByte !== lineFeed;
  }

  /** Does it go to where another one goes, to one terminal for example? */
  isSameAs(other: Outlet): boolean {
    const [one, two] = [this.stream.fd, other.stream.fd];
    if (one === undefined || two === undefined) return false;
    const [here, there] = [fstatSync(one), fstatSync(two)];
    return here.dev === there.dev && here.ino === there.ino;
  }

  /** Did its reader take nothing any more? What was written last may still be on its way to it. */
  get isStuck(): boolean {
    return this.problem?.code === stuckCode;
  }

  /** Waits until the bytes were taken, or nobody takes any more. Called again when that has happened. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.problem !== null) return;
    this.lastByte = bytes.at(-1) ?? this.lastByte;
    await new Promise<void>((resolve) => {
      this.taken = resolve;
      this.beginToWait();
      this.pass(bytes).then(resolve, (error: unknown) => {
        this.problem ??= error as NodeJS.ErrnoException;
        resolve();
      });
    });
    clearTimeout(this.timer);
    this.taken = null;
  }

  /** From now on a reader that takes nothing for so long is waited for no more. */
  hurry(patienceMs: number): void {
    this.patienceMs = patienceMs;
    if (this.taken !== null) this.beginToWait();
  }

  private beginToWait(): void {
    if (this.patienceMs === null) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.problem ??= Object.assign(new Error("its reader took nothing any more"), { code: stuckCode });
      this.taken?.();
    }, this.patienceMs);
  }

  private async pass(bytes: Uint8Array): Promise<void> {
    const { isTTY, fd } = this.stream;
    // Node.js writes to a terminal at once, and while it is stopped (Ctrl-S) the whole process would be.
    if (isTTY === true && fd !== undefined) await writeAll(fd, bytes);
    else await this.send(bytes);
  }

  private send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stream.write(bytes, (error) => (error == null ? resolve() : reject(error)));
    });
  }
}

const stuckCode = "ETIMEDOUT";

/** `ERR_STREAM_DESTROYED`: said by a stream that has said it before. */
const goneCodes: ReadonlySet<string> = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "EIO"]);

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await writeSome(fd, rest));
}

function writeSome(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, written) => {
      if (error === null) resolve(written);
      // Somebody else made the terminal one that does not wait.
      else if (error.code === "EAGAIN") resolve(sleep(againMs, 0));
      else reject(error);
    });
  });
}
