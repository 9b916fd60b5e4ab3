/** Connections that are lost while nobody commits: nothing was promised, so nothing is in doubt. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Ledger } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { ask, behindProxy, expectSound, refusal } from "./place.js";

async function note(ledger: Ledger, n: number): Promise<void> {
  await ledger.append("note/1", [{ type: "note.written", data: { n } }]);
}

const numbers = async (ledger: Ledger): Promise<unknown[]> =>
  (await ledger.readStream("note/1").toArray()).map(({ data }) => data["n"]);

test("connections that were lost while nobody used them are made anew, and nobody is told", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await open(url);
  await note(ledger, 0);
  for (let n = 1; n <= 3; n++) {
    if (n === 1) proxy.cutAll();
    else if (n === 2)
      await ask(direct, "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid", [proxy.backends]);
    else proxy.fail();
    await expect.poll(() => proxy.backends.length).toBe(0);
    proxy.restore();

    expect(await numbers(ledger)).toHaveLength(n);
    await note(ledger, n);
  }
  expect(await numbers(ledger)).toEqual([0, 1, 2, 3]);
});

for (const query of [/^BEGIN/i, /FOR UPDATE/i, /^SELECT/i, /^INSERT/i]) {
  for (const moment of ["before", "sent", "answered"] as const) {
    test(`a connection that is lost at ${query.source}, ${moment}, costs one refusal at most, and nothing is half written`, async () => {
      const { proxy, url, direct } = await behindProxy();
      const ledger = await open(url);
      await note(ledger, 0);
      // Another wrote, so there is something to be read.
      const other = await open(direct);
      await note(other, 1);
      const struck = proxy.cutWhen({ query, moment });

      const told = await note(ledger, 2).then(
        () => "done",
        (error: unknown) => (error as { readonly code: string }).code,
      );

      await struck;
      expect(told).toMatch(/^(done|STORE_UNAVAILABLE)$/);
      await note(ledger, 3);
      expect(await numbers(other)).toEqual(told === "done" ? [0, 1, 2, 3] : [0, 1, 3]);
      await expectSound(other);
    });
  }
}

/** The same address, for a ledger that gives up an answer after a second. */
function impatient(url: string): string {
  const address = new URL(url);
  address.searchParams.set("query_timeout", "1000");
  address.searchParams.set("connect_timeout", "1");
  return address.href;
}

test("a network that says nothing is given up, for writes and reads, and used again when it speaks", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await open(impatient(url), { busyTimeoutMs: 500 });
  await note(ledger, 0);
  proxy.hush();

  const told = await Promise.all([
    refusal(note(ledger, 1)),
    refusal(numbers(ledger)),
    refusal(open(impatient(url), { busyTimeoutMs: 500 })),
  ]);

  for (const error of told) expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
  proxy.restore();
  await note(ledger, 2);
  expect(await numbers(await open(direct))).toEqual([0, 2]);
});

for (const moment of ["before", "sent", "answered"] as const) {
  test(`a COMMIT whose answer is never heard, from ${moment} on, is looked up on another connection`, async () => {
    const { proxy, url, direct } = await behindProxy();
    const ledger = await open(impatient(url), { busyTimeoutMs: 500 });
    await note(ledger, 0);
    const { backends } = proxy;
    const struck = proxy.cutWhen({ query: /^COMMIT/i, moment, silent: true });
    // Beyond the busy timeout the server finds out that nobody is there any more.
    if (moment === "before")
      void struck
        .then(() => sleep(2_500))
        .then(() => ask(direct, "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid", [backends]));

    const told = await note(ledger, 1).then(
      () => "done",
      (error: unknown) => (error as { readonly code: string }).code,
    );

    await struck;
    // Before: the old backend has the lock until it is gone, and is waited for.
    expect(told).toBe(moment === "before" ? "STORE_UNAVAILABLE" : "done");
    proxy.restore();
    await note(await open(direct), 2);
    expect(await numbers(ledger)).toEqual(told === "done" ? [0, 1, 2] : [0, 2]);
  });
}

for (const kind of ["silent", "away"] as const) {
  test(`a ledger can be closed while its server is ${kind}`, async () => {
    const { proxy, url } = await behindProxy();
    const ledger = await open(impatient(url), { busyTimeoutMs: 300 });
    await note(ledger, 0);
    if (kind === "silent") proxy.hush();
    else proxy.fail();
    await ledger.close();
  });
}
