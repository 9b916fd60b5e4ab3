/** SIGINT and SIGTERM: the first one asks for an orderly end, a second one gets the system's own. */
export type Interrupt = "SIGINT" | "SIGTERM";

/** The exit code that shells give to a command that ended for a signal. */
export function exitCodeOfInterrupt(signal: Interrupt): number {
  return signal === "SIGINT" ? 130 : 143;
}

/** A signal that is aborted by the first interrupt, and which one that was; null as long as there was none. */
export interface Interruptible {
  readonly signal: AbortSignal;
  readonly interrupt: Interrupt | null;
}

/** Runs work that the first interrupt aborts. */
export async function interruptibly<Result>(work: (state: Interruptible) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const state: { signal: AbortSignal; interrupt: Interrupt | null } = { signal: controller.signal, interrupt: null };
  const stop = onInterrupt((interrupt) => {
    state.interrupt = interrupt;
    controller.abort();
  });
  try {
    return await work(state);
  } finally {
    stop();
  }
}

/** Hears of the first interrupt. Returns how to stop listening. */
export function onInterrupt(hear: (signal: Interrupt) => void): () => void {
  const stop = (): void => {
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  };
  const interrupted = (signal: NodeJS.Signals): void => {
    stop();
    hear(signal === "SIGTERM" ? "SIGTERM" : "SIGINT");
  };
  process.on("SIGINT", interrupted);
  process.on("SIGTERM", interrupted);
  return stop;
}
