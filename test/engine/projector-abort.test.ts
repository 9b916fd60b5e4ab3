/** Who waits for a table to be built can give up; the build goes on for the others. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { Diagnostic, Ledger, LedgerOptions } from "../../src/index.js";
import { describeStores, onCleanup, open } from "./fixture.js";
import { gated } from "./gated.js";
import { accounts, expectWhole, filled, moved, storedTable } from "./tables.js";

const account = accounts();
const settle = defineCommand("account.settle", {
  reads: [() => ({ found: { read: "document" as const, projection: account, key: "a" } })],
  decide: ({ found }) => accept([{ stream: "account/a", ...moved("a", -(found?.balance ?? 0)) }]),
});
const program: LedgerOptions = {
  events: [defineEvents("account", { open: true }, { "account.moved": {}, "account.opened": {} })],
  projections: [account],
  commands: [settle],
};

/** Everything that waits for the table. */
function waiters(ledger: Ledger, signal: AbortSignal): readonly Promise<unknown>[] {
  const read = ledger.projection(account);
  return [
    read.get("a", { signal }),
    read.find({ index: "rich" }, { signal }),
    read.digest({ signal }),
    ledger.execute(settle(), { signal }),
    ledger.execute([settle(), settle()], { signal, id: "1" }),
  ];
}

const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describeStores("giving up what waits for a table", (_, openStoreOf) => {
  test("reads and commands are told at once, and leave nothing; who goes on waiting gets the answer of the same build", async () => {
    const store = await openStoreOf();
    await filled(store, 1_500);
    const gate = gated(store, 0);
    const heard: Diagnostic[] = [];
    const ledger = await open(gate.store, { ...program, onEvent: (event) => heard.push(event) });
    onCleanup(gate.openGate);
    const { size } = await ledger.status();
    const given = new AbortController();
    const waiting = waiters(ledger, given.signal).map((each) =>
      each.then(
        () => "answered",
        (error: unknown) => error,
      ),
    );
    const patient = ledger.projection(account).get("a");
    await turns();

    given.abort("changed my mind");
    for (const each of waiting) expect(await each).toMatchObject({ code: "ABORTED", cause: "changed my mind" });

    expect((await ledger.status()).size).toBe(size);
    gate.openGate();
    expect(await patient).toMatchObject({ owner: "ann" });
    expect(heard.filter((event) => event.type === "built" && event.projection === "account")).toHaveLength(1);
    expect((await ledger.status()).size).toBe(size);
    await expectWhole(ledger, account);
  });

  test("a signal that many wait with has one listener more while they wait, and none afterwards", async () => {
    const store = await openStoreOf();
    await filled(store, 1_500);
    const gate = gated(store, 0);
    const ledger = await open(gate.store, program);
    onCleanup(gate.openGate);
    const { signal } = new AbortController();
    const read = ledger.projection(account);
    const waiting = Array.from({ length: 20 }, () => read.get("a", { signal }));
    await turns();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);

    gate.openGate();
    await Promise.all(waiting);
    await turns();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("with a signal that is aborted already nothing is built", async () => {
    const store = await openStoreOf();
    await filled(store, 1_500);
    const ledger = await open(store, program);

    for (const each of waiters(ledger, AbortSignal.abort("too late")))
      await expect(each).rejects.toMatchObject({ code: "ABORTED", cause: "too late" });

    expect((await storedTable(store, account)).row).toBe(null);
  });

  test("reads of a past ledger are given up while its events are folded, which goes on", async () => {
    const store = await openStoreOf();
    await filled(store, 1_500);
    const gate = gated(store, 1);
    const ledger = await open(gate.store, program);
    onCleanup(gate.openGate);
    const given = new AbortController();
    const past = (await ledger.at(1_400)).projection(account);
    const waiting = [past.get("a", { signal: given.signal }), past.digest({ signal: given.signal })].map((each) =>
      expect(each).rejects.toMatchObject({ code: "ABORTED" }),
    );
    await turns();

    given.abort();
    await Promise.all(waiting);

    const patient = past.get("a");
    gate.openGate();
    expect(await patient).toMatchObject({ owner: "ann" });
  });

  test("a signal that is none is refused, and so is an option that is none", async () => {
    const ledger = await open(await openStoreOf(), program);
    const past = (await ledger.at(0)).projection(account);

    for (const read of [ledger.projection(account), past])
      for (const options of [{ signal: {} }, { signal: null }, { sygnal: undefined }, null] as const)
        for (const each of [
          () => read.get("a", options as never),
          () => read.find({}, options as never),
          () => read.digest(options as never),
        ])
          await expect(each()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
