/** A writer that has been alone for a while: its batches wait neither for the lock nor for the commit before them (decision 0030). */
import { vi } from "vitest";
import type { Ledger } from "../../src/index.js";
import { onCleanup } from "../engine/fixture.js";
import type { Proxy } from "./proxy.js";

/** How a batch may be begun. */
export const manners = ["that waited for the lock", "that was begun on what the one before it left"] as const;

/** Writes alone, to revision 6 of `calm/1`, until nothing is waited for any more. What was left a second ago is not begun on, so time
 *  stands still for the process until the test is over. Answers with how many batches were begun so since. */
export async function calm(ledger: Ledger, proxy: Proxy): Promise<() => number> {
  const standing = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onCleanup(() => standing.mockRestore());
  for (let n = 1; n <= 6; n++) await ledger.append("calm/1", [{ type: "calm.kept", data: { n } }]);
  let begun = 0;
  proxy.hear = (text) => {
    if (text.includes("ln((")) begun++;
  };
  return () => begun;
}
