/** What is wrong with one document, or one index, is the trouble of who needs it, and of nobody else in the commit. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { Projection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { Diagnostic, LedgerOptions, Store } from "../../src/index.js";
import { describeStores, open } from "./fixture.js";
import { write } from "./following.js";
import { accounts, append, counts, expectTables, expectWhole, moved, opened, storedTable } from "./tables.js";

const account = accounts();
const events = [defineEvents("account", { open: true }, { "account.opened": {}, "account.moved": {} })];
const move = defineCommand("account.move", {
  decide: (_found: object, key: string) => accept([{ stream: `account/${key}`, ...moved(key, 1) }]),
});
/** Remembers nothing, so that each event reads its document. */
const program: LedgerOptions = { events, projections: [account, counts], commands: [move], cacheDocuments: 0 };

async function putText(store: Store, key: string, text: string): Promise<void> {
  const { row } = await storedTable(store, account);
  await write(store, (transaction) =>
    transaction.putDocuments(row!.id, [{ key, seq: 1, text, indexes: [undefined, undefined] }]),
  );
}

const damaged = { code: "STORE_DAMAGED", details: { projection: "account", version: 1, key: "a" } };

describeStores("a damaged document", (_, openStoreOf) => {
  test("refuses the command, the list or the append that would change it, and nobody else in the commit", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, program);
    await append(ledger, "a", opened("a"));
    await append(ledger, "b", opened("b"));
    await putText(store, "a", "5");
    const { size } = await ledger.status();

    const neighbours = [append(ledger, "b", moved("b", 1))];
    const refused = [
      ledger.execute(move("a")),
      ledger.execute([move("b"), move("a")], { id: "1" }),
      append(ledger, "a", moved("a", 1)),
      ledger.append([
        { stream: "account/b", events: [moved("b", 5)] },
        { stream: "account/a", events: [moved("a", 5)] },
      ]),
    ];
    neighbours.push(ledger.execute(move("b")), append(ledger, "c", opened("c")));
    for (const each of refused) await expect(each).rejects.toMatchObject(damaged);
    await Promise.all(neighbours);

    expect((await ledger.status()).size).toBe(size + 3);
    expect(await ledger.receipt("1")).toBe(null);
    expect(await ledger.projection(account).get("b")).toMatchObject({ balance: 2, moves: 2 });
    await expectWhole(ledger, counts);

    await putText(store, "a", '{"owner":"ann","balance":0,"moves":0}');
    await ledger.execute(move("a"));
    await expectWhole(ledger, account);
    await expectTables(store, [account, counts]);
  });

  test("that others wrote an event about stops its table in this process, and the others go on", async () => {
    const store = await openStoreOf();
    const plain = await open(store);
    const heard: Diagnostic[] = [];
    const ledger = await open(store, { ...program, onEvent: (event) => heard.push(event) });
    await append(ledger, "a", opened("a"));
    await append(ledger, "b", opened("b"));
    await putText(store, "a", "[]");
    await append(plain, "b", moved("b", 1));
    await append(plain, "a", moved("a", 1));

    await ledger.append("other/1", [{ type: "other.happened" }]);
    await append(ledger, "a", moved("a", 1));
    await ledger.execute(move("b"));
    await expect(ledger.projection(account).get("b")).rejects.toMatchObject(damaged);
    const { projections } = await ledger.status();
    expect(projections.find(({ name }) => name === "account")).toMatchObject({
      status: "stopped",
      error: { code: "STORE_DAMAGED" },
    });
    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    await expectWhole(ledger, counts);

    await ledger.close();
    await putText(store, "a", '{"owner":"ann","balance":0,"moves":0}');
    const mended = await open(store, program);
    expect(await mended.projection(account).get("a")).toMatchObject({ balance: 2 });
    await expectWhole(mended, account);
    await expectTables(store, [account, counts]);
  });
});

/** Accounts by owner; the index throws as soon as `fickle.breaks` is set. */
function fickleAccounts(): { readonly projection: Projection<{ owner: string }>; breaks: boolean } {
  const fickle = {
    breaks: false,
    projection: defineProjection<{ owner: string }>()({
      name: "fickle",
      version: 1,
      indexes: {
        owner: ({ owner }) => {
          if (fickle.breaks) throw new Error("not now");
          return [owner];
        },
      },
      on: {
        "account.opened": {
          key: ({ data }) => data["account"] as string,
          apply: (_, { data }) => ({ owner: data["owner"] as string }),
        },
      },
    }),
  };
  return fickle;
}

describeStores("an index that throws when its document is written", (_, openStoreOf) => {
  test("stops its own table where it is stored; the commit and the other tables go on", async () => {
    const store = await openStoreOf();
    const fickle = fickleAccounts();
    const heard: Diagnostic[] = [];
    const broken = defineCommand("account.break", {
      decide: () => {
        fickle.breaks = true;
        return accept([]);
      },
    });
    const options: LedgerOptions = {
      events,
      projections: [fickle.projection, account],
      commands: [broken],
      onEvent: (event) => heard.push(event),
    };
    const ledger = await open(store, options);
    await append(ledger, "a", opened("a"));
    const before = await ledger.projection(fickle.projection).find({ index: "owner" });

    await Promise.all([
      append(ledger, "b", opened("b")),
      append(ledger, "b", moved("b", 5)),
      ledger.execute(broken(undefined as never)),
    ]);

    await expect(ledger.projection(fickle.projection).get("a")).rejects.toMatchObject({
      code: "PROJECTION_FAILED",
      details: { projection: "fickle", index: "owner", key: "b" },
    });
    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    expect(await ledger.projection(account).get("b")).toMatchObject({ balance: 5 });
    await expectTables(store, [account]); // the other one is held to its fold when its index answers again
    await append(ledger, "c", opened("c"));
    await ledger.close();

    fickle.breaks = false;
    await expectTables(store, [account, fickle.projection]);
    const again = await open(store, options);
    const after = await again.projection(fickle.projection).find({ index: "owner" });
    expect([before, after].map(({ documents }) => documents.map(({ key }) => key))).toEqual([["a"], ["a", "b", "c"]]);
    await expectWhole(again, fickle.projection);
  });

  test("stops it there too when what others wrote was folded by the same batch", async () => {
    const store = await openStoreOf();
    const fickle = fickleAccounts();
    const plain = await open(store);
    const heard: Diagnostic[] = [];
    const onEvent = (event: Diagnostic): number => heard.push(event);
    const options: LedgerOptions = { projections: [fickle.projection, account], onEvent };
    const ledger = await open(store, options);
    await append(ledger, "a", opened("a"));
    await append(plain, "b", opened("b"));

    // The fold asks the index, too: it breaks behind that.
    const writing = append(ledger, "c", opened("c"), { type: "account.other" });
    Object.defineProperty(fickle, "breaks", { get: countdown(2) });
    await writing;
    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    Object.defineProperty(fickle, "breaks", { value: false });

    await expectTables(store, [account, fickle.projection]);
    await ledger.close();
    const again = await open(store, options);
    await expectWhole(again, fickle.projection);
    await expectWhole(again, account);
  });
});

describeStores("an index that throws behind a query of the same batch", (_, openStoreOf) => {
  test("fails the batch, for its table has no place to go on from; nothing is written", async () => {
    const store = await openStoreOf();
    const fickle = fickleAccounts();
    const list = defineCommand("account.list", {
      reads: [() => ({ all: fickle.projection.find({ index: "owner" }) })],
      decide: ({ all }) => accept([], all.documents.length),
    });
    const broken = defineCommand("account.break", {
      decide: () => {
        fickle.breaks = true;
        return accept([]);
      },
    });
    const options: LedgerOptions = { events, projections: [fickle.projection], commands: [list, broken] };
    const ledger = await open(store, options);
    await append(ledger, "a", opened("a"));
    const { size } = await ledger.status();

    const calls = [
      append(ledger, "b", opened("b")),
      ledger.execute(list(undefined as never)),
      append(ledger, "c", opened("c")),
      ledger.execute(broken(undefined as never)),
    ];
    for (const each of await Promise.allSettled(calls))
      expect(each).toMatchObject({ status: "rejected", reason: { code: "PROJECTION_FAILED" } });

    fickle.breaks = false;
    expect((await ledger.status()).size).toBe(size);
    await expectTables(store, [fickle.projection]);
    await append(ledger, "b", opened("b"));
    await expectWhole(ledger, fickle.projection);
  });
});

/** False so many times, then true. */
function countdown(count: number): () => boolean {
  let left = count;
  return () => left-- <= 0;
}
