import { PassThrough, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Capture } from "../../../src/cli/exec/capture.js";
import type { OutputRecord } from "../../../src/cli/exec/capture.js";
import { Outlet } from "../../../src/cli/exec/outlet.js";

const mebibyte = 1024 * 1024;

/** An outlet that takes everything, and what it took. */
function taking(): { readonly outlet: Outlet; readonly taken: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { outlet: new Outlet(stream), taken: () => Buffer.concat(chunks).toString() };
}

/** Something that opens once. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

/** An outlet that takes nothing before it is opened. */
function waiting(): { readonly outlet: Outlet; readonly open: () => void } {
  const { passed, open } = gate();
  const stream = new Writable({
    async write(_chunk, _encoding, done) {
      await passed;
      done();
    },
  });
  return { outlet: new Outlet(stream), open };
}

describe("a capture", () => {
  test("records both outputs in the order in which they are read, in batches that say where they begin", async () => {
    const batches: [number, readonly OutputRecord[]][] = [];
    const capture = new Capture(async (from, records) => void batches.push([from, records]));
    const [stdout, stderr, { outlet, taken }] = [new PassThrough(), new PassThrough(), taking()];
    capture.read("stdout", stdout, outlet);
    capture.read("stderr", stderr, outlet);
    stdout.write("a\nb");
    await expect.poll(() => batches.length).toBe(1);
    stderr.end("c\n");
    await expect.poll(() => batches.length).toBe(2);
    stdout.end("d");

    expect(await capture.finish()).toBe(false);
    expect(batches.flatMap(([, records]) => records)).toEqual([
      { type: "stdout", payload: "a" },
      { type: "stderr", payload: "c" },
      { type: "stdout", payload: "bd", partial: true },
    ]);
    expect(batches.map(([from]) => from)).toEqual([1, 2, 3]);
    expect(taken()).toBe("a\nbc\nd");
    expect([capture.received, capture.recorded]).toEqual([
      { lines: 3, bytes: 6 },
      { lines: 3, bytes: 6 },
    ]);
  });

  test("has one batch on its way at a time, and takes what came meanwhile together", async () => {
    const { passed, open } = gate();
    const sizes: number[] = [];
    const capture = new Capture(async (_, records) => {
      sizes.push(records.length);
      await passed;
    });
    const stream = new PassThrough();
    capture.read("stdout", stream, taking().outlet);
    for (let lines = 1; lines <= 50; lines++) {
      stream.write("line\n");
      await expect.poll(() => capture.received.lines).toBe(lines);
    }
    expect(sizes).toEqual([1]);
    open();
    stream.end();
    await capture.finish();
    expect(sizes).toEqual([1, 49]);
  });

  test("reads no more while so much is on its way, and goes on when there is room", async () => {
    const { passed, open } = gate();
    const capture = new Capture(() => passed);
    const stream = new PassThrough();
    capture.read("stdout", stream, taking().outlet);
    const line = Buffer.from(`${"x".repeat(1023)}\n`);
    let written = 0;
    void (async () => {
      for (; written < 8 * mebibyte; written += line.length)
        if (!stream.write(line)) await new Promise((resolve) => stream.once("drain", resolve));
      stream.end();
    })();

    await expect.poll(() => capture.received.bytes).toBeGreaterThan(3 * mebibyte);
    await sleep(100);
    expect(capture.received.bytes).toBeLessThan(5 * mebibyte);
    open();
    await capture.finish();
    expect(capture.recorded).toEqual({ lines: (8 * mebibyte) / 1024, bytes: 8 * mebibyte });
  });

  test("reads no more while the reader of the output is behind", async () => {
    const { outlet, open } = waiting();
    const capture = new Capture(async () => {});
    const stream = new PassThrough();
    capture.read("stdout", stream, outlet);
    stream.write("one\n");
    await expect.poll(() => capture.received.lines).toBe(1);
    stream.end("two\n");
    await sleep(50);
    expect(capture.received.lines).toBe(1);
    open();
    await capture.finish();
    expect(capture.recorded.lines).toBe(2);
  });

  test("passes everything on after a batch that cannot be recorded, and records nothing behind it", async () => {
    const full = new Error("full");
    let calls = 0;
    const capture = new Capture(async () => {
      if (++calls > 1) throw full;
    });
    const [stream, { outlet, taken }] = [new PassThrough(), taking()];
    capture.read("stdout", stream, outlet);
    for (const [index, text] of ["a\n", "b\n", "c\n", "d\n"].entries()) {
      stream.write(text);
      await expect.poll(() => [capture.received.lines, calls]).toEqual([index + 1, Math.min(index + 1, 2)]);
    }
    stream.end();
    await capture.finish();
    expect([capture.failure, calls]).toEqual([full, 2]);
    expect(taken()).toBe("a\nb\nc\nd\n");
    expect([capture.received.lines, capture.recorded.lines]).toEqual([4, 1]);
  });

  test("leaves an output that something holds open, after what has come was passed on", async () => {
    const { passed, open } = gate();
    const capture = new Capture(() => passed);
    const stream = new PassThrough();
    capture.read("stdout", stream, taking().outlet);
    stream.write("a\nb");
    const finished = capture.finish(20);
    await sleep(100);
    open();
    expect(await finished).toBe(true);
    expect(capture.recorded).toEqual({ lines: 2, bytes: 3 });
    expect(stream.destroyed).toBe(true);
    expect(capture.failure).toBeNull();
  });

  test("reads what has come before it leaves, however slow the reader of the output is", async () => {
    const { outlet, open } = waiting();
    const capture = new Capture(async () => {});
    const stream = new PassThrough();
    capture.read("stdout", stream, outlet);
    stream.write("one\n");
    await expect.poll(() => capture.received.lines).toBe(1);
    stream.write("two\n");
    const finished = capture.finish(20);
    await sleep(100);
    open();
    expect(await finished).toBe(true);
    expect(capture.recorded).toEqual({ lines: 2, bytes: 8 });
  });

  test("leaves an output that never stands still, too", async () => {
    const capture = new Capture(async () => {});
    const chunk = Buffer.from(`${"x".repeat(1023)}\n`.repeat(16));
    const stream = new Readable({ read: () => void stream.push(chunk) });
    capture.read("stdout", stream, taking().outlet);
    expect(await capture.finish(20)).toBe(true);
    expect(capture.recorded).toEqual(capture.received);
    expect(capture.failure).toBeNull();
  });

  test("of an output that fails says why, and goes on with the other", async () => {
    const capture = new Capture(async () => {});
    const [stdout, stderr, { outlet, taken }] = [new PassThrough(), new PassThrough(), taking()];
    capture.read("stdout", stdout, outlet);
    capture.read("stderr", stderr, outlet);
    stdout.destroy(new Error("torn"));
    await sleep(20);
    stderr.end("still\n");
    await capture.finish();
    expect(capture.failure).toMatchObject({ message: "torn" });
    expect(taken()).toBe("still\n");
  });
});

describe("an outlet", () => {
  test.each(["EPIPE", "ECONNRESET"])("whose reader went away (%s) takes the rest without a word", async (code) => {
    const gone = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error("gone"), { code })) });
    gone.on("error", () => {});
    const outlet = new Outlet(gone);
    await outlet.write(Buffer.from("a"));
    await outlet.write(Buffer.from("b"));
    expect(outlet.failure).toBeNull();
  });

  test("that cannot be written says why, once it is asked", async () => {
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error("no room"), { code: "ENOSPC" })),
    });
    full.on("error", () => {});
    const outlet = new Outlet(full);
    await outlet.write(Buffer.from("a"));
    expect(outlet.failure).toBe("no room");
  });

  test("whose reader takes nothing is waited for, and no more once it is in a hurry", async () => {
    const outlet = new Outlet(new Writable({ write: () => {} }));
    let isDone = false;
    const written = outlet.write(Buffer.from("a")).then(() => (isDone = true));
    await sleep(50);
    expect([isDone, outlet.isStuck]).toEqual([false, false]);

    outlet.hurry(20);

    await written;
    await outlet.write(Buffer.from("b"));
    expect([outlet.isStuck, outlet.failure]).toEqual([true, "its reader took nothing any more"]);
  });
});
