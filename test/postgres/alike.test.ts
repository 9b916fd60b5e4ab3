/** Two processes that append the same in the same millisecond, byte for byte. */
import { expect, test } from "vitest";
import type { Ledger } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { open } from "../engine/fixture.js";
import { behindProxy, expectSound } from "./place.js";

const beat = (ledger: Ledger): Promise<{ readonly ids: readonly string[] }> =>
  ledger.append("pulse/1", [{ type: "pulse.felt" }]);

test("an append that did not wait for the lock does not take that of another process for its own, though they are the same", async () => {
  const { proxy, url, direct } = await behindProxy();
  const clock = manualClock();
  const ledger = await open(url, { clock, testing: {} });
  const other = await open(direct, { clock, testing: {} });
  const guards: string[] = [];
  proxy.hear = (text) => void (/\bln\(/.test(text) && guards.push(text));
  while (guards.length === 0) await beat(ledger);

  const told = [await beat(other), await beat(ledger)];
  const stored = (await ledger.readStream("pulse/1").toArray()).map(({ id }) => id);
  expect(told.flatMap(({ ids }) => ids)).toEqual(stored.slice(-2));
  await expectSound(ledger);
});
