import { jobStream } from "./events.js";

/** How many events a job gets before its caller begins a new one. */
export const jobLength = 64;

/** The jobs of concurrent callers, each with one of its own. They begin at lengths 0 to 63, so that from the first moment
 *  on the average length is that of a long run: half of `jobLength`. */
export class Jobs {
  private readonly jobs: { stream: string; left: number }[];
  private made = 0;

  constructor(callers: number) {
    this.jobs = Array.from({ length: callers }, (_, caller) => ({
      stream: this.newStream(),
      left: jobLength - (caller % jobLength),
    }));
  }

  /** The stream that a caller writes to next. */
  next(caller: number): string {
    const job = this.jobs[caller]!;
    if (job.left-- > 0) return job.stream;
    job.left = jobLength - 1;
    job.stream = this.newStream();
    return job.stream;
  }

  /** Each job's stream with the number of events it must have before the callers start. */
  beginnings(): readonly { readonly stream: string; readonly events: number }[] {
    return this.jobs.map(({ stream, left }) => ({ stream, events: jobLength - left }));
  }

  private newStream(): string {
    return jobStream(1_000_000 + this.made++);
  }
}
