/** The watch of the host stands still while something runs: the engine cuts batches by it, and how busy a machine is must not
 *  decide what a seed does. What is written down comes from injected clocks anyway. */

export async function withHeldWatch<Result>(run: () => Promise<Result>): Promise<Result> {
  const own = Object.getOwnPropertyDescriptor(performance, "now");
  const stood = performance.now();
  Object.defineProperty(performance, "now", { configurable: true, writable: true, value: () => stood });
  try {
    return await run();
  } finally {
    if (own === undefined) Reflect.deleteProperty(performance, "now");
    else Object.defineProperty(performance, "now", own);
  }
}
