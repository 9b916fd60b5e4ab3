/** A failure of the store among all that may be thrown while a command is decided: the rest is the command's own. */
export class StoreFailure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** Waits for the store; what it rejects with is its failure, unless `isRefusal` says that it refuses the command alone. */
export async function ofStore<Value>(
  answer: Promise<Value>,
  isRefusal: (error: unknown) => boolean = () => false,
): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    throw failureOf(error, isRefusal);
  }
}

/** The same where there may be nothing to wait for. */
export function ofStoreIfAny(
  answer: Promise<void> | undefined,
  isRefusal?: (error: unknown) => boolean,
): Promise<void> | undefined {
  return answer === undefined ? undefined : ofStore(answer, isRefusal);
}

/** The same where the answer may be there already: then there is nothing to wait for. */
export function askStore<Value>(
  ask: () => Promise<Value> | Value,
  isRefusal: (error: unknown) => boolean,
): Promise<Value> | Value {
  let answer: Promise<Value> | Value;
  try {
    answer = ask();
  } catch (error) {
    throw failureOf(error, isRefusal);
  }
  return answer instanceof Promise ? ofStore(answer, isRefusal) : answer;
}

function failureOf(error: unknown, isRefusal: (error: unknown) => boolean): unknown {
  return isRefusal(error) ? error : new StoreFailure(error); // caught one level up, never seen by anybody
}
