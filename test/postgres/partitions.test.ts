/** Many journals in one database: each has an order, consumers, checkpoints and tables of its own, under names that are the same
 *  in all of them, and nothing of one is seen in another. */
import { expect, test } from "vitest";
import { content, copyLedger, defineEvents, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import { defineProjection } from "../../projections/define-projection.js";
import { formatSignerKey } from "../../src/journal/note-keys.js";
import { onCleanup } from "../engine/fixture.js";
import { ask, journalUrl, schemaOf, serverUrl } from "./place.js";
import { startServer } from "./server.js";

const count = 30;
const rounds = 4;

const events = [defineEvents("order", { open: true }, { "order.placed": {} })];
const ordersOf = (version: number) =>
  defineProjection<{ readonly tenant: number; readonly placed: number }>()({
    name: "orders",
    version,
    indexes: { placed: ({ placed }) => [placed] },
    on: {
      "order.placed": {
        key: ({ stream }) => stream,
        apply: (order, { data }) => ({ tenant: data["tenant"] as number, placed: (order?.placed ?? 0) + 1 }),
      },
    },
  });
const orders = ordersOf(1);

interface Tenant {
  readonly tenant: number;
  readonly url: string;
  readonly ledger: Ledger;
}

/** A journal for each tenant, all in one database, open at once. */
async function openTenants(length: number = count): Promise<Tenant[]> {
  const numbers = Array.from({ length }, (_, tenant) => tenant);
  return Promise.all(
    numbers.map(async (tenant) => {
      const url = journalUrl();
      const origin = `example.com/tenant-${tenant}`;
      const key = formatSignerKey(origin, Buffer.alloc(32, tenant + 1));
      const ledger = await openLedger(url, { origin, key, events, projections: [orders] });
      onCleanup(() => ledger.close());
      return { tenant, url, ledger };
    }),
  );
}

/** How many orders a tenant places in each of two streams. */
function placedBy({ tenant }: Pick<Tenant, "tenant">): number {
  return 2 + (tenant % 4);
}

/** Orders in the same streams everywhere, with a content that is equal in all journals. */
async function place({ tenant, ledger }: Omit<Tenant, "url">): Promise<void> {
  const event = { type: "order.placed", data: { tenant, letter: content("the same in all of them".repeat(100)) } };
  for (const stream of ["order/1", "order/2"])
    for (let each = 0; each < placedBy({ tenant }); each++) await ledger.append(stream, [event]);
}

async function forAll<Answer>(
  tenants: readonly Tenant[],
  work: (tenant: Tenant) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(tenants.map(work));
}

test(`${count} journals in one database have each their own order, consumers, checkpoints and tables`, async () => {
  const tenants = await openTenants();
  await forAll(tenants, place);
  await forAll(tenants, async ({ tenant, ledger }) => {
    const written = (await ledger.read().toArray()).filter(({ type }) => type === "order.placed");
    expect(written.map(({ data }) => data["tenant"])).toEqual(
      Array.from({ length: 2 * placedBy({ tenant }) }, () => tenant),
    );
    const { size } = await ledger.status();
    expect(size - written.length).toBe(2); // the journal's own: its opening, and the area
    expect((await ledger.readStream("order/2").toArray()).map(({ revision }) => revision)).toEqual(
      Array.from({ length: placedBy({ tenant }) }, (_, index) => index + 1),
    );
    const found = await ledger.projection(orders).find({ index: "placed" });
    expect(found.documents.map(({ document }) => document)).toEqual(
      [1, 2].map(() => ({ tenant, placed: placedBy({ tenant }) })),
    );
    const note = await ledger.checkpoint();
    expect([note.origin, note.size]).toEqual([`example.com/tenant-${tenant}`, size]);
  });

  // Every second one has a consumer, of the same name, which read one batch or two and has the next one in hand.
  const read = await forAll(tenants, async ({ tenant, ledger }) => {
    if (tenant % 2 === 0) return [];
    const subscription = ledger.subscribe({ consumer: "reader", batch: 1 });
    let position = -1;
    for (let batches = 0; batches <= (tenant % 3) % 2; batches++)
      position = (await subscription.next()).value!.entries.at(-1)!.position;
    await subscription.next();
    await subscription.return();
    return [["reader", position]];
  });
  await forAll(tenants, async ({ tenant, ledger }) => {
    const { consumers } = await ledger.status();
    expect(consumers.map(({ name, position }) => [name, position])).toEqual(read[tenant]);
    expect((await ledger.checkpoints()).length).toBe(1);
  });
});

test(`what is erased, built anew or dropped in one of ${count} journals of a database is in the others as it was`, async () => {
  const tenants = await openTenants();
  await forAll(tenants, place);
  const letterOf = async (ledger: Ledger): Promise<ContentReference> =>
    (await ledger.readStream("order/1").toArray())[0]!.data["letter"] as unknown as ContentReference;
  const [erased, rebuilt, dropped, ...others] = tenants as [Tenant, Tenant, Tenant, ...Tenant[]];

  await erased.ledger.erase([(await letterOf(erased.ledger)).$content], { reason: "asked for", shared: true });
  await rebuilt.ledger.close();
  const again = await openLedger(rebuilt.url, { events, projections: [ordersOf(2)] });
  onCleanup(() => again.close());
  const { documents } = await again.projection("orders").find({ index: "placed" });
  await dropped.ledger.close();
  await ask(serverUrl(), `DROP SCHEMA "${schemaOf(dropped.url)}" CASCADE`);

  expect(documents.map(({ document }) => document)).toEqual(
    [1, 2].map(() => ({ tenant: 1, placed: placedBy(rebuilt) })),
  );
  await forAll(others, async ({ tenant, ledger }) => {
    expect(String(Buffer.from((await ledger.content(await letterOf(ledger))).bytes)).length).toBe(2_300);
    const { projections } = await ledger.status();
    expect(projections.filter(({ name }) => name === "orders").map(({ version }) => version)).toEqual([1]);
    await place({ tenant, ledger });
    expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
  });
});

test("a process that waits in one journal hears of no other one", async () => {
  const tenants = await openTenants(2);
  const [one, other] = tenants as [Tenant, Tenant];
  const subscription = one.ledger.subscribe({ from: "head" });
  await subscription.next();
  const next = subscription.next();
  for (let round = 0; round < rounds; round++) await place(other);

  await place(one);

  expect((await next).value?.entries.map(({ data }) => data["tenant"]).includes(1)).toBe(false);
  await subscription.return();
});

test("a journal moves to another server: what was kept of it elsewhere vouches for it there, and its readers go on", async () => {
  const server = await startServer({ sync: false });
  onCleanup(() => server.stop());
  const [first] = (await openTenants(1)) as [Tenant];
  await place(first);
  const subscription = first.ledger.subscribe({ consumer: "reader", batch: 1 });
  await subscription.next();
  await subscription.next();
  await subscription.return();
  const { note } = await first.ledger.checkpoint();
  const before = await first.ledger.read().toArray();
  await first.ledger.close();

  const there = `${server.url}?journal=moved`;
  await copyLedger(first.url, there);
  await ask(serverUrl(), `DROP SCHEMA "${schemaOf(first.url)}" CASCADE`);

  const moved = await openLedger(there, { create: false, events, projections: [orders] });
  onCleanup(() => moved.close());
  const report = await moved.verify({ level: "deep", from: [note] });
  expect([report.verdict, report.findings]).toEqual(["OK", []]);
  expect(await moved.read().toArray()).toEqual(before);
  const next = await moved.subscribe({ consumer: "reader", batch: 1 }).next();
  expect(next.value?.entries[0]?.position).toBe(before.filter(({ type }) => type === "order.placed")[1]?.position);
  await place({ tenant: 0, ledger: moved });
  expect((await moved.status()).size).toBe(before.length + 2 * placedBy(first));
});
