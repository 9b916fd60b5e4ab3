/** Tables that are built in the background: who reads them is told, and nobody waits. */
import { expect, test } from "vitest";
import type { AnyProjection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents, openLedger } from "../../src/index.js";
import type { Diagnostic, Ledger, LedgerOptions, ProjectionStatus } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultAt } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { describeStores, onCleanup, open, runSeed } from "./fixture.js";
import { gated } from "./gated.js";
import { accounts, append, counts, expectTables, expectWhole, filled, moved, storedTable } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

const events = defineEvents("account", { open: true }, { "account.moved": {}, "account.opened": {} });
const other = defineEvents("other", { open: true }, { "other.happened": {} });
const account = accounts();

/** Reads an account and moves its balance to zero. */
const settle = defineCommand("account.settle", {
  reads: [() => ({ found: { read: "document" as const, projection: account, key: "a" } })],
  decide: ({ found }) => accept([{ stream: "account/a", ...moved("a", -(found?.balance ?? 0)) }]),
});
/** Reads nothing. */
const happen = defineCommand("other.happen", {
  decide: () => accept([{ stream: "other/1", type: "other.happened" }]),
});

const program: LedgerOptions = {
  events: [events, other],
  projections: [account],
  commands: [settle, happen],
  builds: "background",
};

const notReady = { code: "NOT_READY", details: { projection: "account", version: 1 } };

async function statusOf(ledger: Ledger, { name, version }: AnyProjection): Promise<ProjectionStatus> {
  const { projections } = await ledger.status();
  return projections.find((each) => each.name === name && each.version === version)!;
}

/** Waits until a table is no longer built, without ever reading it. */
async function ended(ledger: Ledger, projection: AnyProjection): Promise<ProjectionStatus> {
  for (;;) {
    const status = await statusOf(ledger, projection);
    if (status.status !== "rebuilding") return status;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describeStores("tables that are built in the background", (_, openStoreOf) => {
  test("a table that is built is rebuilding, with its position; its reads and commands are not ready, and everything else goes on", async () => {
    const store = await openStoreOf();
    await filled(store, 6_000);
    const gate = gated(store, 3);
    let firstChunk = (): void => {};
    const written = new Promise<void>((resolve) => (firstChunk = resolve));
    const onEvent = ({ type }: Diagnostic): void => {
      if (type === "building") firstChunk();
    };

    const ledger = await open(gate.store, { ...program, onEvent });
    onCleanup(gate.openGate);
    expect(await statusOf(ledger, account)).toMatchObject({ status: "rebuilding", error: null });
    await written;

    const { status, position, behind } = await statusOf(ledger, account);
    expect(status).toBe("rebuilding");
    expect(position).toBeGreaterThan(900);
    expect(behind).toBeGreaterThan(1_000);
    const read = ledger.projection(account);
    for (const asked of [read.get("a"), read.find({ index: "rich" }), read.digest(), ledger.execute(settle())])
      await expect(asked).rejects.toMatchObject(notReady);
    await expect(read.get("a")).rejects.toThrow(
      / \(version 1\) must be folded up to the head, found it at -?\d+ of \d+$/,
    );
    await expect(ledger.execute([happen(), settle()])).rejects.toMatchObject(notReady);
    await ledger.execute(happen());
    await append(ledger, "b", moved("b", 1));

    gate.openGate();
    expect(await ended(ledger, account)).toMatchObject({ status: "following", behind: 0 });
    await ledger.execute(settle());
    expect(await read.get("a")).toMatchObject({ balance: 0 });
    expect(await ledger.read({ types: ["other.happened"] }).toArray()).toHaveLength(1);
    await expectWhole(ledger, account);
    await expectTables(store, [account]);
  });

  test("a command that was not ready leaves no receipt: sent again with its id, it is carried out", async () => {
    const store = await openStoreOf();
    await filled(store, 2_500);
    const gate = gated(store, 0);
    const ledger = await open(gate.store, program);
    onCleanup(gate.openGate);
    const { size } = await ledger.status();

    // First the table of receipts is not ready, which nobody had asked for, then that of the projection.
    await expect(ledger.execute(settle(), { id: "1" })).rejects.toMatchObject({ code: "NOT_READY" });
    await expect(ledger.receipt("1")).rejects.toMatchObject({ code: "NOT_READY" });
    expect((await ledger.status()).size).toBe(size);
    gate.openGate();
    let answer;
    while (answer === undefined) {
      answer = await ledger.execute(settle(), { id: "1" }).catch((error: unknown) => {
        expect(error).toMatchObject({ code: "NOT_READY" });
      });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }

    expect(answer).toMatchObject({ adopted: false, first: size });
    expect(await ledger.execute(settle(), { id: "1" })).toMatchObject({ adopted: true });
  });

  test("a table that one batch brings up is read at once, and so is one that stands at the head", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 900);
    const ledger = await open(store, program);

    expect(await statusOf(ledger, account)).toMatchObject({ status: "following" });
    await ledger.execute(settle());
    expect(await ledger.projection(account).get("a")).toMatchObject({ balance: 0 });

    await append(plain, "a", ...Array.from({ length: 900 }, () => moved("a", 1)));
    expect(await ledger.projection(account).get("a")).toMatchObject({ balance: 900 });
  });

  test("a table that others leave far behind is built when it is next used, and its reads are not ready until then", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 10);
    const ledger = await open(store, program);
    await ledger.projection(account).get("a");

    await append(plain, "a", ...Array.from({ length: 3_000 }, () => moved("a", 1)));
    await expect(ledger.projection(account).get("a")).rejects.toMatchObject(notReady);

    expect(await ended(ledger, account)).toMatchObject({ status: "following", behind: 0 });
    await expectWhole(ledger, account);
  });

  test("closing ends the build between two chunks, and the next opening goes on from there, asked by nobody", async () => {
    const store = await openStoreOf();
    await filled(store, 7_000);
    const closed = await open(store, {
      ...program,
      onEvent: ({ type }) => {
        if (type === "building") void closed.close();
      },
    });
    await expect(ended(closed, account)).rejects.toMatchObject({ code: "CLOSED" });
    await closed.close();
    const { row } = await storedTable(store, account);
    expect(row!.position).toBeGreaterThan(0);
    expect(row!.position).toBeLessThan(6_000);
    await expectTables(store, [account]);

    const heard: Diagnostic[] = [];
    const ledger = await open(store, { ...program, onEvent: (event) => heard.push(event) });
    expect(await ended(ledger, account)).toMatchObject({ status: "following", behind: 0 });

    expect(heard.find(({ type }) => type === "building")).toMatchObject({ position: row!.position });
    expect(heard.filter(({ type }) => type === "built")).toHaveLength(1);
    await expectWhole(ledger, account);
  });

  test("a reducer that fails ends the build, with its error for all who read it; the others go on", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 4_000);
    const breaking = accounts({ breaks: 777 });
    const ledger = await open(store, { projections: [breaking, counts], builds: "background" });

    expect(await ended(ledger, breaking)).toMatchObject({
      status: "failed",
      position: 784,
      error: { code: "PROJECTION_FAILED" },
    });
    expect(await ended(ledger, counts)).toMatchObject({ status: "following", behind: 0 });
    await expect(ledger.projection(breaking).get("a")).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    await append(ledger, "a", moved("a", 1));
    await expectWhole(ledger, counts);
    await ledger.close();
    await plain.close();

    const mended = await open(store, program);
    expect(await ended(mended, account)).toMatchObject({ status: "following", behind: 0, error: null });
    await expectWhole(mended, account);
  });

  test("two processes that build the same table while a third one appends get the same documents", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 5_000);
    const ledgers = [await open(store, program), await open(store, program)];

    for (let n = 0; n < 20; n++) await append(plain, "b", moved("b", n));

    for (const ledger of ledgers) {
      expect(await ended(ledger, account)).toMatchObject({ status: "following" });
      await expectWhole(ledger, account);
    }
    await expectTables(store, [account]);
  });

  test("a ledger that is open read-only builds nothing", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 1_500);
    await plain.close();
    const reading = new Proxy(store, {
      get: (target, name) => {
        if (name === "readOnly") return true;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const ledger = await open(reading, { ...program, readOnly: true });

    expect(await statusOf(ledger, account)).toMatchObject({ status: "following", position: -1 });
    await expect(ledger.projection(account).get("a")).rejects.toMatchObject(notReady);
    expect((await storedTable(store, account)).row).toBe(null);
  });

  test("a store that is busy for a while ends no build", async () => {
    const store = await openStoreOf();
    await filled(store, 3_000);
    let busy = 5;
    const held = faultyStore(store, ({ step, moment }) =>
      step === "begin" && moment === "before" && busy-- > 0 ? "busy" : null,
    );
    const ledger = await openLedger(held, { ...program, busyTimeoutMs: 0 });

    expect(await ended(ledger, account)).toMatchObject({ status: "following", behind: 0 });
    await expectWhole(ledger, account);
    await ledger.close();
  });

  test("a read waits for the last stretch of a build, which one batch folds", async () => {
    const store = await openStoreOf();
    await filled(store, 1_100);
    let folded = false;
    let asked: Promise<unknown> | undefined;
    const slow = faultyStore(store, ({ step, moment }) => {
      if (step !== "begin" || moment !== "before" || !folded) return null;
      asked ??= ledger.projection(account).get("a");
      return { slow: 20 };
    });
    const onEvent = ({ type }: Diagnostic): void => {
      if (type === "building") folded = true; // the one chunk; the next lock is that of the batch
    };
    const ledger = await openLedger(slow, { ...program, onEvent });

    await ended(ledger, account);
    expect(await asked).toMatchObject({ owner: "ann" });
    await ledger.close();
  });

  test("what ends a build is told to whoever asks next, who begins another", async () => {
    const store = await openStoreOf();
    await filled(store, 3_000);
    const full = faultyStore(store, ({ step, moment }) =>
      step === "documents" && moment === "before" ? "full" : null,
    );
    const ledger = await openLedger(full, program);

    await ended(ledger, account);
    await expect(ledger.projection(account).get("a")).rejects.toMatchObject({ code: "STORE_FULL" });
    await expect(ledger.projection(account).get("a")).rejects.toMatchObject(notReady);
    await ended(ledger, account);
    await ledger.close();

    const ready = await open(store, program);
    await ended(ready, account);
    await expectWhole(ready, account);
  });
});

test("a process that is killed at any call of the store while it builds in the background leaves a table that goes on", async () => {
  const stride = long ? 1 : 8;
  for (let k = 1 + Math.abs(runSeed % stride); ; k += stride) {
    const store = createMemoryStore();
    await (await filled(store, 1_300)).close();
    const process = faultyStore(store, faultAt(k, "crash"));
    try {
      const ledger = await openLedger(process, { ...program, busyTimeoutMs: 1 });
      while ((await statusOf(ledger, account)).status === "rebuilding")
        await new Promise((resolve) => setTimeout(resolve, 1));
      await ledger.close();
    } catch (error) {
      if (!process.crashed) throw error;
    }
    await expectTables(store, [account]);
    const ledger = await openLedger(store, program);
    await ended(ledger, account);
    await expectWhole(ledger, account);
    await ledger.close();
    if (!process.crashed) break;
  }
});
