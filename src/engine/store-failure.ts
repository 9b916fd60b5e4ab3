/** A failure of the store among all that may be thrown while a command is decided: the rest is the command's own. */
export class StoreFailure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** Waits for the store; what it rejects with is its failure, unless `isRefusal` says that it refuses the command alone. */
export async function ofStore<Value>(
  answer: Promise<Value> | undefined,
  isRefusal: (error: unknown) => boolean = () => false,
): Promise<Value | undefined> {
  if (answer === undefined) return undefined;
  try {
    return await answer;
  } catch (error) {
    if (isRefusal(error)) throw error;
    // oxlint-disable-next-line typescript/only-throw-error -- caught one level up, never seen by anybody
    throw new StoreFailure(error);
  }
}
