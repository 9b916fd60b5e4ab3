/** One batch on its way, and its neighbours: at most one is decided while the one before it is committed. */
import type { AssumedTransaction } from "../journal/store.js";

export class Flight {
  /** The transaction that it began with, where nobody waited for the lock. */
  readonly assumed: AssumedTransaction | null;
  before: Flight | null;
  /** Resolves when the next one may begin: it was sent, or has come to its end. */
  readonly left: Promise<void>;
  /** Resolves when everybody in it was told. */
  done: Promise<void> = Promise.resolve();
  /** Resolves when nothing of it is on its way any more. */
  private readonly landed: Promise<void>;
  private readonly setLeft: () => void;
  private readonly setLanded: () => void;
  /** The one that was begun behind it. */
  private behind: Flight | null = null;
  private state: "begun" | "left" | "landed" = "begun";

  constructor(assumed: AssumedTransaction | null, before: Flight | null) {
    this.assumed = assumed;
    this.before = before;
    [this.left, this.setLeft] = signal();
    [this.landed, this.setLanded] = signal();
    before?.lead(this);
  }

  get isInTheAir(): boolean {
    return this.state === "left";
  }

  private lead(behind: Flight): void {
    this.behind = behind;
  }

  /** It was sent, and the next one may begin. */
  leave(): void {
    this.state = "left";
    this.setLeft();
  }

  /** It has failed, and nothing of it is on its way: waits until those before it were told, who come first, and until nothing of the one
   *  behind it is on its way, which rests on it and fails as well. */
  async clear(): Promise<void> {
    this.setLanded();
    await this.before?.done;
    await this.behind?.landed;
  }

  /** It has come to its end. */
  land(): void {
    this.state = "landed";
    this.before = null; // nobody else holds on to all that ever were
    this.setLeft();
    this.setLanded();
  }
}

function signal(): [Promise<void>, () => void] {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return [promise, resolve];
}
