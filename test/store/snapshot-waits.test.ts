import { expect, test } from "vitest";
import { freshPlace, onCleanup, openShared, sharedStoreNames } from "../engine/fixture.js";

const snapshotsMax = 8;

test.each(sharedStoreNames)(
  "who will not wait for a snapshot is refused at once, and lets others go first, on %s",
  async (name) => {
    // Longer than a test may take.
    const store = await openShared(freshPlace(name), { busyTimeoutMs: 600_000 });
    onCleanup(() => store.close());
    const held = await Promise.all(Array.from({ length: snapshotsMax }, () => store.snapshot(0)));

    await expect(store.snapshot(0)).rejects.toMatchObject({ code: "STORE_BUSY" });
    const waiting = store.snapshot();
    await held[0]!.release();
    await expect(store.snapshot(0)).rejects.toMatchObject({ code: "STORE_BUSY" });
    await (await waiting).release();

    await (await store.snapshot(0)).release();
    await Promise.all(held.map((each) => each.release()));
  },
);
