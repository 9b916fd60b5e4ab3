import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../kernel/errors.js";
import { isBusy } from "./errors.js";

/** Tries until the lock is free, at most `timeoutMs`, without blocking the event loop: SQLite's own busy timeout
 *  sleeps inside the call, so it stays at 0. Waits grow from 1 to 10 ms, with jitter so that two processes do not keep step. */
export async function whenFree<T>(path: string, doing: string, timeoutMs: number, attempt: () => T): Promise<T> {
  const started = performance.now();
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 1.5, 10)) {
    try {
      return attempt();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      const waitedMs = performance.now() - started;
      if (waitedMs >= timeoutMs) {
        throw new LedgerError(
          "STORE_BUSY",
          `${doing} ${path} waited ${Math.round(waitedMs)} ms for another writer, at most ${timeoutMs} are allowed`,
          {
            details: { path, waitedMs, timeoutMs },
            hint: "try again, or raise busyTimeoutMs",
            cause,
          },
        );
      }
      await sleep(Math.min(waitMs * (0.5 + Math.random()), Math.max(timeoutMs - waitedMs, 1)));
    }
  }
}
