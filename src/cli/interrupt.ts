/** SIGINT and SIGTERM: the first one asks for an orderly end, a second one gets the system's own. */
export type Interrupt = "SIGINT" | "SIGTERM";

/** The exit code that shells give to a command that ended for a signal. */
export function exitCodeOfInterrupt(signal: Interrupt): number {
  return signal === "SIGINT" ? 130 : 143;
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
