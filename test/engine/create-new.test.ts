/** `create: "new"`: of all that open a journal at once, exactly one has made it, and the others are told so. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { LedgerError } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { freshPlace, ledgerPath, open, openShared, runSeed, sharedStoreNames } from "./fixture.js";

test("a journal that is not there is made, and one that is there is refused by name, unchanged", async () => {
  const path = ledgerPath();
  const ledger = await openLedger(path, { create: "new", origin: "acme/first" });
  await ledger.close();
  const before = readFileSync(path);

  await expect(openLedger(path, { create: "new", origin: "acme/second" })).rejects.toMatchObject({
    code: "STORE_EXISTS",
    details: { location: path, origin: "acme/first" },
  });

  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  expect((await open(path)).origin).toBe("acme/first");
});

test("a journal of PostgreSQL that is there is refused by name, and what is shown has no password", async () => {
  const place = freshPlace("postgres");
  await (await openLedger(place, { create: "new", origin: "acme/first" })).close();

  const error = await openLedger(place, { create: "new", origin: "acme/second" }).catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ code: "STORE_EXISTS", details: { origin: "acme/first" } });
  expect(JSON.stringify(error) + String(error)).not.toContain(new URL(place).password);
  const ledger = await open(place);
  expect([ledger.origin, (await ledger.status()).size]).toEqual(["acme/first", 1]);
});

test.each(sharedStoreNames)(
  "a journal whose creation was broken off before its first entry is finished, on %s",
  async (name) => {
    const path = freshPlace(name);
    const store = await openShared(path);
    await store.close();

    const ledger = await open(path, { create: "new", origin: "acme/finished" });

    expect(ledger.origin).toBe("acme/finished");
  },
);

test.each([
  ["memory", () => createMemoryStore()],
  ["memory, with lost replies", (seed: number) => asyncMemoryStore(seed, { lostReplyRate: 0.5 })],
] as const)("of many that open one store at once one has made it: %s", async (_, make) => {
  for (let round = 0; round < 20; round++) {
    const store = make(runSeed + round);

    const opened = await Promise.allSettled(
      Array.from({ length: 5 }, (__, caller) => openLedger(store, { create: "new", origin: `caller/${caller}` })),
    );

    const made = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const refused = opened.flatMap((each) => (each.status === "rejected" ? [each.reason as LedgerError] : []));
    expect(made).toHaveLength(1);
    for (const { code, details } of refused)
      expect({ code, details }).toMatchObject({ code: "STORE_EXISTS", details: { origin: made[0]!.origin } });
    expect(opened.findIndex((each) => each.status === "fulfilled")).toBe(Number(made[0]!.origin.split("/")[1]));
    await made[0]!.close();
  }
});

test("of many that open one journal of PostgreSQL at once, each for itself, one has made it", async () => {
  for (let round = 0; round < 3; round++) {
    const place = freshPlace("postgres");

    const opened = await Promise.allSettled(
      Array.from({ length: 6 }, (_, caller) => openLedger(place, { create: "new", origin: `caller/${caller}` })),
    );

    const made = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const refused = opened.flatMap((each) => (each.status === "rejected" ? [each.reason as LedgerError] : []));
    expect(made).toHaveLength(1);
    for (const { code, details } of refused)
      expect({ code, details }).toMatchObject({ code: "STORE_EXISTS", details: { origin: made[0]!.origin } });
    await made[0]!.close();
  }
});

test.each([
  [{ create: "old" }, "options.create must be true, false or"],
  [{ create: 1 }, "options.create must be true, false or"],
  [{ create: "new", readOnly: true }, "readOnly"],
  [{ create: "new", expectAtLeast: `acme/x\n1\n${"A".repeat(43)}=\n` }, "expectAtLeast"],
] as const)("refuses the options %j, and nothing is made", async (options, says) => {
  const path = ledgerPath();

  await expect(openLedger(path, options as never)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(says) as string,
  });

  expect(existsSync(path)).toBe(false);
});
