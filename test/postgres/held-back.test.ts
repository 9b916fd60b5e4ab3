/** How much of what a transaction writes is held back: it goes out in one go where it is little, and bit by bit where it is not. */
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { contentRow } from "../../src/testing/store-histories.js";
import { onCleanup } from "../engine/fixture.js";
import { behindProxy } from "./place.js";

const mebibyte = 1024 * 1024;

test("contents beyond 16 MiB are sent before the commit, and all of them are there behind it", async () => {
  const { proxy, url } = await behindProxy();
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  const heard: string[] = [];
  proxy.hear = (text) => void (text.includes("contents") && text.startsWith("INSERT") && heard.push("contents"));
  const transaction = await store.begin();
  const heardAfter: number[] = [];

  for (let n = 1; n <= 10; n++) {
    const row = { ...contentRow(n, `${n}`), bytes: Buffer.alloc(4 * mebibyte, n) };
    await transaction.append([], [row], []);
    heardAfter.push(heard.length);
  }

  // Four of them and what they are named by are more than 16 MiB, and go out before the next one.
  expect(heardAfter).toEqual([0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
  expect((await transaction.contentFacts([10]))[0]).toMatchObject({ n: 10, size: 4 * mebibyte });
  expect(heard.length).toBe(10);
  await transaction.rollback();
});
