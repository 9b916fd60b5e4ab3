/** Definitions: registered once, found by what they are, on each store. Rows U-02, U-05. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { canonicalize, content, definitionDigest } from "../../src/index.js";
import { describeQueues, expectSound, refused, t0 } from "./queue-fixture.js";
import { leavesNothing } from "./run-fixture.js";

describeQueues("a definition", (start) => {
  test("U-05 is stored once, found by the plain digest of its JSON, and listed", async () => {
    const { ledger, clock } = await start();
    const snapshot = { steps: ["make", "test"], retries: 2 };
    const digest = createHash("sha256").update(canonicalize(snapshot)).digest("hex");

    const first = await ledger.definitions.register({ name: "build", snapshot });
    clock.advance(5);
    const again = await ledger.definitions.register({
      name: "build",
      snapshot: { retries: 2, steps: ["make", "test"] },
    });
    const text = await ledger.definitions.register({ name: "text", snapshot: "make" });

    expect(first).toMatchObject({ name: "build", digest, streams: [{ stream: `definition/${digest}`, revision: 1 }] });
    expect(again).toMatchObject({ name: "build", digest, count: 0 });
    expect(definitionDigest(snapshot)).toBe(digest);
    expect(text.digest).toBe(definitionDigest("make"));
    const found = await ledger.definitions.get(digest);
    expect(found).toMatchObject({ name: "build", digest, createdAt: t0 });
    expect((await ledger.content(found!.snapshot)).json()).toEqual(snapshot);
    const page = await ledger.definitions.list({ limit: 1 });
    expect(page.definitions).toEqual([found]);
    expect((await ledger.definitions.list({ after: page.next! })).definitions).toMatchObject([{ name: "text" }]);
    expect(await ledger.definitions.get("ab".repeat(32))).toBeNull();
    await expectSound(ledger);
  });

  test("U-02 keeps its name, and is not registered again when its content was erased", async () => {
    const { ledger } = await start();
    const { digest } = await ledger.definitions.register({ name: "build", snapshot: { a: 1 } });
    await leavesNothing(ledger, () => ledger.definitions.register({ name: "check", snapshot: { a: 1 } }), {
      code: "REQUEST_CONFLICT",
      details: { digest, name: "build", called: "check" },
    });

    const { snapshot } = (await ledger.definitions.get(digest))!;
    await ledger.erase([snapshot.$content], { reason: "private" });

    expect(await ledger.definitions.register({ name: "build", snapshot: { a: 1 } })).toMatchObject({
      count: 0,
      digest,
    });
    expect(await refused(ledger.content(snapshot))).toMatchObject({ code: "CONTENT_ERASED" });
    await expectSound(ledger);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no name", { snapshot: 1 }],
    ["a name that is none", { name: "1", snapshot: 1 }],
    ["a name that is too long", { name: "n".repeat(129), snapshot: 1 }],
    ["no snapshot", { name: "n" }],
    ["a snapshot that JSON cannot carry", { name: "n", snapshot: new Map() }],
    ["a snapshot of bytes", { name: "n", snapshot: content(new Uint8Array(3)) }],
    ["another member", { name: "n", snapshot: 1, digest: "ab".repeat(32) }],
  ])("is refused with %s", async (_, wish) => {
    const { ledger } = await start();

    const code = expect.stringMatching(/^(INVALID_ARGUMENT|LIMIT_EXCEEDED)$/) as string;
    await leavesNothing(ledger, () => ledger.definitions.register(wish as never), { code });
    for (const wrong of ["", "AB".repeat(32), 7])
      expect(await refused(ledger.definitions.get(wrong as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await refused(ledger.definitions.list({ limit: 0 }))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
