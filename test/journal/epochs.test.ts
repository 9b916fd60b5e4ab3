import { describe, expect, test } from "vitest";
import { Epochs } from "../../src/journal/epochs.js";
import type { JournalOpened } from "../../src/journal/events/journal.js";

const opened: JournalOpened = {
  engine: "0.1.0",
  format: 1,
  incarnation: 1,
  nonce: "AAECAwQFBgcICQoLDA0ODw==",
  origin: "example.com/orders",
};
const key1 = `example.com/orders+00000001+${"A".repeat(44)}`;
const key2 = `example.com/orders+00000002+${"B".repeat(44)}`;

describe("the key of a size", () => {
  test("is the one that the last event below that size names", () => {
    const epochs = new Epochs({ ...opened, key: key1 });
    epochs.add(7, "journal.keyChanged", { key: key2 });

    expect(epochs.keyOf(1)).toEqual({ key: key1, since: 0, previous: null });
    expect(epochs.keyOf(7)).toEqual({ key: key1, since: 0, previous: null });
    expect(epochs.keyOf(8)).toEqual({ key: key2, since: 7, previous: key1 });
    expect(epochs.keyOf(1_000)).toEqual({ key: key2, since: 7, previous: key1 });
  });

  test("is none until the journal names one", () => {
    const epochs = new Epochs(opened);
    epochs.add(3, "journal.keyChanged", { key: key1 });

    expect(epochs.keyOf(3)).toEqual({ key: null, since: 0, previous: null });
    expect(epochs.keyOf(4)).toEqual({ key: key1, since: 3, previous: null });
  });
});

test("the first line of a checkpoint has the incarnation from the second on", () => {
  const epochs = new Epochs(opened);
  epochs.add(5, "journal.restored", { incarnation: 2, size: 5 });
  epochs.add(6, "area.defined", { area: "order", kinds: ["order"], open: true });
  epochs.add(9, "journal.restored", { incarnation: 4, size: 9 });

  expect([1, 5, 6, 9, 10, 11].map((size) => epochs.lineOf(size))).toEqual([
    "example.com/orders",
    "example.com/orders",
    "example.com/orders/2",
    "example.com/orders/2",
    "example.com/orders/4",
    "example.com/orders/4",
  ]);
});
