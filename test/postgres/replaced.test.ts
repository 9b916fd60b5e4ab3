/** Case A13 on a server: another journal comes to be where a ledger is open. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { open } from "../engine/fixture.js";
import { ask, journalUrl, refusal, schemaOf, serverUrl } from "./place.js";

const placed = [{ type: "order.placed", data: {} }];

test.each([
  [
    "is dropped and made again",
    async (url: string) => {
      await ask(serverUrl(), `DROP SCHEMA ${schemaOf(url)} CASCADE`);
      await (await open(url)).close();
    },
  ],
  [
    "gives its name to another one",
    async (url: string) => {
      const other = journalUrl();
      const ledger = await open(other);
      for (let n = 0; n < 5; n++) await ledger.append("order/2", placed);
      await ledger.close();
      const away = `j_${randomBytes(8).toString("hex")}`;
      await ask(serverUrl(), `ALTER SCHEMA ${schemaOf(url)} RENAME TO ${away}`);
      await ask(serverUrl(), `ALTER SCHEMA ${schemaOf(other)} RENAME TO ${schemaOf(url)}; DROP SCHEMA ${away} CASCADE`);
    },
  ],
])("A13 a ledger whose schema %s refuses to write and to read", async (_, replace) => {
  const url = journalUrl();
  const ledger = await open(url);
  await ledger.append("order/1", placed);
  await ledger.runs.create({ title: "one", runId: "one" });
  await replace(url);
  const before = await ask(serverUrl(), `SELECT max(seq) FROM ${schemaOf(url)}.entries`);

  const refused = [
    () => ledger.append("order/1", placed),
    () => ledger.runs.create({ title: "two" }),
    () => ledger.runs.get("one"),
    () => ledger.status(),
    () => ledger.append("order/1", placed),
  ];
  for (const call of refused) {
    const error = await refusal(call());
    expect(error).toMatchObject({ code: "STORE_DAMAGED", details: { reason: "replaced" } });
  }
  expect(await ask(serverUrl(), `SELECT max(seq) FROM ${schemaOf(url)}.entries`)).toEqual(before);
  await ledger.close();
});
