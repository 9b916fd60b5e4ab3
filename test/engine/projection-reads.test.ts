/** Reading projections: what `ledger.projection` answers, and what keeps it from answering. */
import { expect, test } from "vitest";
import type { Diagnostic } from "../../src/index.js";
import { describeStores, open } from "./fixture.js";
import { accounts, append, closed, counts, moved, opened, storedTable } from "./tables.js";
import type { Account } from "./tables.js";

describeStores("reads of projections", (openOne, openStore) => {
  test("a document is read by its key, frozen; there is none before its first event and after its removal", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });
    await append(ledger, "a", opened("a"), moved("a", 3));

    const read = ledger.projection(account);
    const document = await read.get("a");

    expect(document).toEqual({ owner: "ann", balance: 3, moves: 1 });
    expect(Object.isFrozen(document)).toBe(true);
    expect(await read.get("b")).toBe(null);
    await append(ledger, "a", closed("a"));
    expect(await read.get("a")).toBe(null);
    expect(await ledger.projection("account").get("a")).toBe(null);
  });

  test("documents are found by an index, in pages", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });
    for (const [name, owner, amount] of [
      ["a", "ann", 5],
      ["b", "bob", 100],
      ["c", "ann", 300],
      ["d", "ann", 4],
    ] as const)
      await append(ledger, name, opened(name, owner), moved(name, amount));

    const read = ledger.projection<Account>(account);
    const first = await read.find({ index: "owner", prefix: ["ann"], limit: 2 });
    const second = await read.find({ index: "owner", prefix: ["ann"], limit: 2, after: first.next! });

    expect(first.documents.map(({ key }) => key)).toEqual(["d", "a"]);
    expect(second).toEqual({
      documents: [{ key: "c", document: { owner: "ann", balance: 300, moves: 1 } }],
      next: null,
    });
    const rich = await read.find({ index: "rich", order: "desc" });
    expect(rich.documents.map(({ key }) => key)).toEqual(["c", "b"]);
    expect((await read.find()).documents.map(({ key }) => key)).toEqual(["a", "b", "c", "d"]);
  });

  test("a query that no index serves, and a projection that was not given, are refused", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });

    await expect(ledger.projection(account).find({ index: "balance" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    const expected = "projection must be one that was given to openLedger in `projections` (account@1), found";
    expect(() => ledger.projection(counts)).toThrow(`${expected} "count"`);
    expect(() => ledger.projection("count")).toThrow(`${expected} "count"`);
    expect(() => ledger.projection(accounts())).toThrow(`${expected} "another definition of account"`);
  });

  test("a table is built from the whole journal before its first use, and said so", async () => {
    const store = await openStore();
    const plain = await open(store);
    await append(plain, "a", opened("a"), ...Array.from({ length: 2_500 }, () => moved("a", 1)));
    const heard: Diagnostic[] = [];
    const account = accounts();

    const ledger = await open(store, { projections: [account], onEvent: (event) => heard.push(event) });
    const documents = await Promise.all([1, 2, 3].map(() => ledger.projection(account).get("a")));

    expect(documents[2]).toEqual({ owner: "ann", balance: 2_500, moves: 2_500 });
    expect(heard.filter(({ type }) => type === "built")).toMatchObject([{ projection: "account", version: 1 }]);
    expect(heard.filter(({ type }) => type === "building").length).toBeGreaterThan(0);
    expect((await storedTable(store, account)).listed).toBe(true);
  });

  test("what a program without the projection appended is there at the next read", async () => {
    const store = await openStore();
    const account = accounts();
    const plain = await open(store);
    const ledger = await open(store, { projections: [account] });
    await append(ledger, "a", opened("a"));

    for (let n = 1; n <= 5; n++) {
      await append(plain, "a", moved("a", 1));
      expect(await ledger.projection(account).get("a")).toMatchObject({ balance: n });
      if (n % 2 === 0) await append(plain, "x", { type: "other.happened" });
    }
  });

  test("a read is answered as of its call, however fast another program writes", async () => {
    const store = await openStore();
    const account = accounts();
    const plain = await open(store);
    await append(plain, "a", opened("a"));
    let writing = false;
    const busy = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "snapshot") return value.bind(target) as unknown;
        return async () => {
          if (writing) await append(plain, "a", moved("a", 1));
          return target.snapshot();
        };
      },
    });
    const ledger = await open(busy, { projections: [account] });
    writing = true;

    const document = await ledger.projection(account).get("a");

    writing = false;
    expect(document!.balance).toBeGreaterThan(0);
  });
});
