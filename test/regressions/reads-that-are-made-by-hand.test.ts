/** What a command reads are values that a host may make itself, and an index is a function of the host's. Those that ran the
 *  host's code, or reached the store, inside the commit failed everybody in it; an index that answered once and threw later had
 *  documents lost. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { Stage } from "../../src/commands/read.js";
import { accounts, bank, deposit, openAccount, refusal } from "../engine/bank.js";
import { describeStores, open } from "../engine/fixture.js";
import { expectTables } from "../engine/tables.js";

let changing = 0;
const reads: Readonly<Record<string, () => object>> = {
  "a projection whose name runs code": () => ({
    read: "document",
    key: "a",
    projection: {
      get name(): string {
        throw new Error("the host's");
      },
    },
  }),
  "a content whose number is an object": () => ({ read: "content", reference: { $content: "0", bytes: 1, n: {} } }),
  "a content whose number is none": () => ({
    read: "content",
    reference: { $content: "a".repeat(64), bytes: 1, n: 1.5 },
  }),
  "a content without a reference": () => ({ read: "content" }),
  "a reference that changes when it is looked at": () => ({
    read: "content",
    reference: {
      $content: "a".repeat(64),
      bytes: 1,
      get n(): unknown {
        return changing++ === 0 ? 1 : {};
      },
    },
  }),
};

describeStores("a read that was made by hand", (openOne, openStoreOf) => {
  test("touches nobody else in the commit", async () => {
    const evil = defineCommand("bank.evil", {
      reads: [(which: string) => ({ found: reads[which]!() }) as Stage],
      decide: () => accept([]),
    });
    const ledger = await openOne({ ...bank, commands: [...bank.commands!, evil] });
    await ledger.execute(openAccount({ account: "a", owner: "ann" }));
    for (const which of Object.keys(reads)) {
      changing = 0;
      const before = ledger.execute(deposit({ account: "a", cents: 1 }));
      const refused = refusal(ledger.execute(evil(which))).catch((error: unknown) => error as Error);
      const after = ledger.execute(deposit({ account: "a", cents: 1 }));
      await Promise.all([before, after]);
      // What changed its mind was read once, and finds nothing.
      const code = which.includes("changes") ? undefined : "INVALID_ARGUMENT";
      expect([which, (await refused) as { readonly code?: string }]).toMatchObject([
        which,
        code === undefined ? {} : { code },
      ]);
    }
    expect(await ledger.projection(accounts).get("a")).toMatchObject({ balance: 2 * Object.keys(reads).length });
  });

  test("of an index that throws later refuses its command, and loses no document", async () => {
    let asked = 0;
    let breaksAt = Infinity;
    const fickle = defineProjection<{ name: string }>()({
      name: "thing",
      version: 1,
      indexes: {
        name: ({ name }) => {
          if (++asked >= breaksAt) throw new Error("not now");
          return [name];
        },
      },
      on: {
        "thing.made": { key: ({ data }) => data["name"] as string, apply: (_, { data }) => ({ ...data }) as never },
      },
    });
    const make = defineCommand("thing.make", {
      decide: (_found: object, name: string) =>
        accept([{ stream: `thing/${name}`, type: "thing.made", data: { name } }]),
    });
    const list = defineCommand("thing.list", {
      reads: [() => ({ all: fickle.find({ index: "name" }) })],
      decide: ({ all }) => {
        breaksAt = Infinity;
        return accept([], all.documents.length);
      },
    });
    const events = [defineEvents("thing", { open: false }, { "thing.made": {} })];
    for (let place = 1; place <= 6; place++) {
      const store = await openStoreOf();
      const ledger = await open(store, { events, projections: [fickle], commands: [make, list] });
      const names = [`a${place}`, `b${place}`];
      asked = 0;
      breaksAt = Infinity;
      const made = ledger.execute(make(names[0]!));
      const listed = ledger.execute([make(names[1]!), list(undefined as never)]).catch(() => {
        breaksAt = Infinity;
      });
      breaksAt = place;
      await Promise.allSettled([made, listed]);
      breaksAt = Infinity;
      await expectTables(store, [fickle], events);
    }
  });
});

describeStores("what a query found", (openOne) => {
  test("is frozen, now and as it was", async () => {
    const ledger = await openOne(bank);
    const { position } = await ledger.execute(openAccount({ account: "a", owner: "ann" }));
    for (const found of [
      await ledger.projection(accounts).find(),
      await (await ledger.at(position)).projection(accounts).find(),
    ])
      for (const part of [found, found.documents, found.documents[0], found.documents[0]?.document])
        expect(Object.isFrozen(part)).toBe(true);
  });

  test("at a time that is no Date is refused, whatever it looks like", async () => {
    const ledger = await openOne(bank);
    for (const when of [Object.create(Date.prototype), new Proxy(new Date(), {}), {}, "2026-01-01"])
      expect((await refusal(ledger.at(when as Date))).code).toBe("INVALID_ARGUMENT");
  });

  test("in the past is folded once, also where the projection stops", async () => {
    let tries = 0;
    const failing = defineProjection()({
      name: "failing",
      version: 1,
      on: {
        "other.done": {
          key: () => {
            tries++;
            throw new Error("never");
          },
          apply: () => null,
        },
      },
    });
    const ledger = await openOne({ projections: [failing] });
    const { position } = await ledger.append("other/a", [{ type: "other.done" }]);
    const past = (await ledger.at(position)).projection(failing);
    tries = 0;
    for (let n = 0; n < 3; n++) expect((await refusal(past.get("a"))).code).toBe("PROJECTION_FAILED");
    expect(tries).toBe(1);
  });
});
