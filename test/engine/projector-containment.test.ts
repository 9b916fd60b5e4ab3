/** What is wrong with one document, or one index, is the trouble of who needs it, and of nobody else in the commit. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { Projection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { Command, Diagnostic, LedgerOptions, Store } from "../../src/index.js";
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

const make = defineCommand("account.make", {
  decide: (_found: object, key: string) => accept([{ stream: `account/${key}`, ...opened(key) }]),
});

interface Fickle {
  readonly projection: Projection<{ owner: string }>;
  readonly options: LedgerOptions;
  readonly breakIndex: () => Command;
  readonly list: () => Command;
  /** The index answers again. */
  readonly mend: () => void;
}

/** Accounts by owner, with an index that throws from the moment the command `breakIndex` is decided until the next fold: also
 *  where a batch is decided again. */
function fickleProgram(): Fickle {
  let breaks = false;
  const projection = defineProjection<{ owner: string }>()({
    name: "fickle",
    version: 1,
    indexes: {
      owner: ({ owner }) => {
        if (breaks) throw new Error("not now");
        return [owner];
      },
    },
    on: {
      "account.opened": {
        key: ({ data }) => data["account"] as string,
        apply: (_, { data }) => {
          breaks = false;
          return { owner: data["owner"] as string };
        },
      },
    },
  });
  const breakIndex = defineCommand("account.break", {
    decide: () => {
      breaks = true;
      return accept([]);
    },
  });
  const list = defineCommand("account.list", {
    reads: [() => ({ all: projection.find({ index: "owner" }) })],
    decide: ({ all }) => accept([], all.documents.length),
  });
  return {
    projection,
    options: { events, projections: [projection, account], commands: [make, move, breakIndex, list] },
    breakIndex: () => breakIndex(undefined),
    list: () => list(undefined),
    mend: () => (breaks = false),
  };
}

describeStores("an index that throws when its document is written", (_, openStoreOf) => {
  test("stops its own table where it is stored; the commit and the other tables go on", async () => {
    const store = await openStoreOf();
    const { projection, options, breakIndex, mend } = fickleProgram();
    const heard: Diagnostic[] = [];
    const ledger = await open(store, { ...options, onEvent: (event) => heard.push(event) });
    await ledger.execute(make("a"));

    await ledger.execute([make("b"), move("b"), breakIndex()]);

    await expect(ledger.projection(projection).get("a")).rejects.toMatchObject({
      code: "PROJECTION_FAILED",
      details: { projection: "fickle", index: "owner", key: "b" },
    });
    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    expect(await ledger.projection(account).get("b")).toMatchObject({ balance: 1 });
    await ledger.execute(make("c"));
    await ledger.close();

    mend();
    await expectTables(store, [account, projection]);
    const again = await open(store, options);
    const { documents } = await again.projection(projection).find({ index: "owner" });
    expect(documents.map(({ key }) => key)).toEqual(["a", "b", "c"]);
    await expectWhole(again, projection);
  });

  test("stops it there too when the same batch folded what others wrote", async () => {
    const store = await openStoreOf();
    const { projection, options, breakIndex, mend } = fickleProgram();
    const plain = await open(store);
    const heard: Diagnostic[] = [];
    const ledger = await open(store, { ...options, onEvent: (event) => heard.push(event) });
    await ledger.execute(make("a"));
    await append(plain, "b", opened("b"));

    await ledger.execute([make("c"), breakIndex()]);

    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    mend();
    await expectTables(store, [account, projection]);
    await ledger.close();
    const again = await open(store, options);
    await expectWhole(again, projection);
    await expectWhole(again, account);
  });

  test("fails the batch when a query had documents of that table written: it has no place to go on from", async () => {
    const store = await openStoreOf();
    const { projection, options, breakIndex, list, mend } = fickleProgram();
    const plain = await open(store);
    const ledger = await open(store, options);
    await ledger.execute(make("a"));
    await append(plain, "b", opened("b"));
    const { size } = await ledger.status();

    const executed = ledger.execute([list(), make("c"), breakIndex()]);

    if (store.remote) {
      // The query was answered ahead of the lock, and had nothing written: then its table alone stops.
      await executed;
      mend();
      await expectTables(store, [account, projection]);
      await ledger.close();
      await expectWhole(await open(store, options), projection);
      return;
    }
    await expect(executed).rejects.toMatchObject({ code: "PROJECTION_FAILED", details: { key: "c" } });
    mend();
    expect((await ledger.status()).size).toBe(size);
    await expectTables(store, [account, projection]);
    await ledger.execute(make("c"));
    await expectWhole(ledger, projection);
  });
});
