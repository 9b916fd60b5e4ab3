/** What signals to `exec` mean: SIGTERM ends the command and leaves the run to others, a second one ends it at once; all
 *  others are the command's, and what it does with them decides. */
import { signalGroup } from "./process-group.js";
import type { Stop } from "./stop.js";

const passedOn = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** By which a user or a terminal ends what it does: what fails then is not tried again. */
const interrupts: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGHUP", "SIGQUIT"]);

/** A command that signals are for. */
export interface SignalledCommand {
  /** That of its group. */
  readonly pid: number;
  /** Ends it at once, with all that is left of it. */
  kill(): void;
}

export class Signals {
  /** Was the command interrupted? */
  interrupted = false;
  private readonly stop: Stop;
  private command: SignalledCommand | null = null;
  private readonly hear = (signal: NodeJS.Signals): void => this.heard(signal);

  /** Listens from now on. */
  constructor(stop: Stop) {
    this.stop = stop;
    for (const signal of [...passedOn, "SIGTERM"] as const) process.on(signal, this.hear);
  }

  /** Whose they are from now on; null: there is no command. */
  passTo(command: SignalledCommand | null): void {
    this.command = command;
  }

  /** Hears of them no more. */
  close(): void {
    for (const signal of [...passedOn, "SIGTERM"] as const) process.off(signal, this.hear);
  }

  private heard(signal: NodeJS.Signals): void {
    const isInterrupt = interrupts.has(signal);
    if (isInterrupt) this.interrupted = true;
    if (signal === "SIGTERM") {
      if (this.stop.why() !== null) this.command?.kill();
      this.stop.because({ type: "drained", signal });
    } else if (this.command !== null) signalGroup(this.command.pid, signal);
    // There is nothing yet that could be interrupted but the start.
    else if (isInterrupt) this.stop.because({ type: "drained", signal });
  }
}
