import { expect, test } from "vitest";
import type { Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { open } from "./fixture.js";

test("heads of streams are forgotten beyond ten thousand, where everything that touches them is refused too", async () => {
  const inner = createMemoryStore();
  const asked = new Set<string>();
  const store: Store = Object.assign(Object.create(inner) as Store, {
    begin: async () => {
      const transaction = await inner.begin();
      return Object.assign(Object.create(transaction) as typeof transaction, {
        streamHeads: (streams: readonly string[]) => {
          for (const stream of streams) asked.add(stream);
          return transaction.streamHeads(streams);
        },
      });
    },
  });
  const ledger = await open(store);
  const refuse = async (n: number): Promise<void> =>
    expect(ledger.append(`note/${n}`, [{ type: "note.taken", data: {} }], { expected: 1 })).rejects.toMatchObject({
      code: "REVISION_CONFLICT",
    });
  const numbers = Array.from({ length: 10_001 }, (_, n) => n);
  await Promise.all(numbers.slice(0, 5_000).map(refuse));
  await Promise.all(numbers.slice(5_000).map(refuse));
  await refuse(10_000); // a batch begins with more than the bound
  asked.clear();

  await refuse(10_000);
  await refuse(0);

  expect([...asked].filter((stream) => stream.startsWith("note/"))).toEqual(["note/0"]);
});
