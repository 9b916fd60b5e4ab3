import { expect, test, vi } from "vitest";
import { writeOperational } from "../../src/engine/operational.js";
import { LedgerError } from "../../src/kernel/errors.js";
import type { LedgerErrorCode } from "../../src/kernel/errors.js";
import { createMemoryStore } from "../../src/store/memory/store.js";

for (const [code, resets] of [
  ["STORE_DAMAGED", 0],
  ["NOT_FOUND", 0],
  ["STORE_UNAVAILABLE", 1],
] as const satisfies readonly (readonly [LedgerErrorCode, number])[]) {
  test(`what writes operational rows and is refused with ${code} has the store start afresh ${resets} times`, async () => {
    const store = createMemoryStore();
    const reset = vi.spyOn(store, "reset");
    const refused = new LedgerError(code, "made up");

    await expect(writeOperational(store, 0, () => Promise.reject(refused))).rejects.toBe(refused);

    expect(reset).toHaveBeenCalledTimes(resets);
    await expect(writeOperational(store, 0, async () => "written")).resolves.toBe("written");
  });
}
