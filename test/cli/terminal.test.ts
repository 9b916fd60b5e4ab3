import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Progress } from "../../src/cli/progress.js";
import { Terminal } from "../../src/cli/terminal.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

function newTerminal(isTTY: boolean): { terminal: Terminal; said: () => string } {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const chunks: Buffer[] = [];
  stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr, env: {} });
  return { terminal, said: () => Buffer.concat(chunks).toString() };
}

describe("progress", () => {
  test("is a count and a rate, at most once a second, on a terminal", async () => {
    const { terminal, said } = newTerminal(true);
    const progress = new Progress(terminal, "event");
    progress.at(10);
    vi.advanceTimersByTime(999);
    progress.at(1_000);
    vi.advanceTimersByTime(1_001);
    progress.at(12_000);
    progress.at(13_000);
    vi.advanceTimersByTime(2_000);
    progress.at(1);
    await terminal.say("done");
    expect(said()).toBe("\r\u001b[2K12,000 events, 6,000/s\r\u001b[2K1 event, 0/s\r\u001b[2Kdone\n");
  });

  test("is not shown where no terminal is", async () => {
    const { terminal, said } = newTerminal(false);
    const progress = new Progress(terminal, "event");
    vi.advanceTimersByTime(5_000);
    progress.at(10);
    await terminal.say("done");
    expect(said()).toBe("done\n");
  });
});

test("talk goes on when nobody hears it", async () => {
  const stderr = new PassThrough();
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr, env: {} });
  stderr.destroy();
  await terminal.say("done");
});
