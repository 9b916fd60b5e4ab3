/** The two ends of the command: data goes to stdout, talk to stderr.
 *  Invariants: a write is waited for, so that a slow reader slows the command down and nothing is cut at the end (case
 *  J14); a reader that went away is a `ReaderGone`, thrown at the next write; colour and progress need a terminal. */
import { styleText } from "node:util";
import { escapeJson, escapeSentence } from "./escape.js";
import { OutputFailed, ReaderGone } from "./exit.js";

/** What the command needs of its process; tests hand in their own. */
export interface Surroundings {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The styles that are in use, by what they mean. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const bufferedUnitsMax = 64 * 1024;
const progressEveryMs = 1_000;

export class Terminal {
  readonly stdin: Surroundings["stdin"];
  readonly isInteractive: boolean;
  private readonly surroundings: Surroundings;
  private readonly colourful: boolean;
  private waiting = "";
  private progressShown = false;
  private progressAt: number = performance.now();

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
    this.stdin = surroundings.stdin;
    this.isInteractive = surroundings.stdout.isTTY === true;
    this.colourful = this.isInteractive && isColourWanted(surroundings.env);
    // Errors are seen by the write that meets them; without a listener the same error would end the process.
    surroundings.stdout.on("error", ignore);
    surroundings.stderr.on("error", ignore);
  }

  /** Puts one line of data out. Its values are escaped by whoever makes it. */
  async line(text: string): Promise<void> {
    this.waiting += `${text}\n`;
    if (this.waiting.length >= bufferedUnitsMax) await this.flush();
  }

  /** Puts text out that this program made itself, once the next flush comes. */
  queue(text: string): void {
    this.waiting += text;
  }

  /** The same for stderr, at once. */
  queueTalk(text: string): void {
    this.surroundings.stderr.write(text);
  }

  /** Puts one object out as one line of JSON. */
  async json(value: unknown): Promise<void> {
    await this.line(escapeJson(JSON.stringify(value)));
  }

  /** The streams themselves, for output that goes through as it is. Nothing else may be put out meanwhile. */
  get streams(): Pick<Surroundings, "stdout" | "stderr"> {
    return this.surroundings;
  }

  /** Puts exact bytes out. */
  async bytes(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await write(this.surroundings.stdout, bytes);
  }

  /** Waits until everything said so far has been taken. */
  async flush(): Promise<void> {
    const text = this.waiting;
    this.waiting = "";
    if (text !== "") await write(this.surroundings.stdout, text);
  }

  /** Says a sentence on stderr. A stderr that nobody reads is nobody's problem. */
  async say(sentence: string): Promise<void> {
    this.endProgress();
    await write(this.surroundings.stderr, `${escapeSentence(sentence)}\n`).catch(ignore);
  }

  /** Shows how far a long work is, every second and on a terminal only, in a line that the next one replaces. */
  progress(sentence: string): void {
    const now = performance.now();
    if (this.surroundings.stderr.isTTY !== true || now - this.progressAt < progressEveryMs) return;
    this.progressAt = now;
    this.surroundings.stderr.write(`\r\u001b[2K${escapeSentence(sentence)}`);
    this.progressShown = true;
  }

  /** Takes the progress off the screen. */
  endProgress(): void {
    if (this.progressShown) this.surroundings.stderr.write("\r\u001b[2K");
    this.progressShown = false;
  }

  /** Text in a style, where stdout is a terminal that wants it. */
  style(style: Style, text: string): string {
    return this.colourful ? styleText(style, text, { validateStream: false }) : text;
  }
}

/** See no-color.org: any value but the empty one turns colour off. */
function isColourWanted(env: Surroundings["env"]): boolean {
  return (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

function write(stream: NodeJS.WritableStream, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => {
      if (error == null) resolve();
      else reject(failureOf(error));
    });
  });
}

/** After the first EPIPE the stream is destroyed, and later writes say so in another way. */
function failureOf(cause: NodeJS.ErrnoException): Error {
  const gone = cause.code === "EPIPE" || cause.code === "ERR_STREAM_DESTROYED" || cause.code === "ECONNRESET";
  if (gone) return new ReaderGone("the reader of the output went away", { cause });
  return new OutputFailed(`the output could not be written: ${cause.message}`, { cause });
}

function ignore(): void {}
