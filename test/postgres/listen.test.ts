/** Hints between processes: that they come, that they are one number and nothing else, and that a connection which is lost costs
 *  hints and nothing else. */
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { channelOf, Listening } from "../../src/store/postgres/listen.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import { serverUrl } from "./place.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

let journals = 0;
const connecting = { config: parsePostgresLocation(serverUrl()).config, timeoutMs: 10_000 };

/** A channel of its own, somebody who listens there, and a connection to say something on. */
async function journal(lingerMs?: number) {
  const channel = channelOf(`listen_test_${process.pid}_${journals++}`);
  const speaker = new pg.Client(serverUrl());
  await speaker.connect();
  ends.push(() => speaker.end());
  const listening = new Listening(connecting, channel, lingerMs);
  ends.push(() => listening.close());
  const backends = async (): Promise<number[]> =>
    (await speaker.query("SELECT pid FROM pg_stat_activity WHERE query = $1", [`LISTEN ${channel}`])).rows.map(
      ({ pid }: { pid: number }) => pid,
    );
  const connected = (): Promise<void> => expect.poll(backends).toHaveLength(1);
  const say = (payload: string, where = channel) => speaker.query("SELECT pg_notify($1, $2)", [where, payload]);
  const heard: number[] = [];
  const listen = (): (() => void) => listening.listen((position) => heard.push(position));
  return { speaker, say, listening, listen, heard, backends, connected };
}

describe("hints by LISTEN", () => {
  test("come from another connection, to all who listen, until they have ended", async () => {
    const { say, listening, listen, heard, connected } = await journal();
    const [one, other] = [listen(), listen()];
    await connected();

    await say("7");
    await expect.poll(() => heard).toEqual([7, 7]);
    one();
    await say("9");
    await expect.poll(() => heard).toEqual([7, 7, 9]);
    other();
    await say("11");
    const last: number[] = [];
    ends.push(listening.listen((position) => last.push(position)));

    await say("12");
    await expect.poll(() => last.at(-1)).toBe(12);
    expect(heard).toEqual([7, 7, 9]);
  });

  test("leave nothing behind of the connections that were lost", async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", warn);
    ends.push(() => process.off("warning", warn));
    const { speaker, listen, backends, connected } = await journal();
    listen();
    for (let n = 0; n < 12; n++) {
      await connected();
      const [backend] = await backends();
      await speaker.query("SELECT pg_terminate_backend($1, 5000)", [backend]);
    }
    await connected();

    expect(warnings).toEqual([]);
  });

  test("are numbers: whatever else somebody sends is not heard", async () => {
    const { say, listen, heard, connected } = await journal();
    listen();
    await connected();

    for (const payload of ["", "-1", "1.5", "1e3", "x".repeat(7_000), "9007199254740993", " 1", "NaN"])
      await say(payload);
    await say("5", channelOf("another journal"));
    await say("6");

    await expect.poll(() => heard).toEqual([6]);
  });

  test("go on when the connection was ended by the server", async () => {
    const { speaker, say, listen, heard, backends, connected } = await journal();
    listen();
    await connected();
    const [before] = await backends();

    await speaker.query("SELECT pg_terminate_backend($1)", [before]);
    await expect.poll(async () => (await backends()).filter((pid) => pid !== before)).toHaveLength(1);

    await say("3");
    await expect.poll(() => heard).toEqual([3]);
  });

  test("take one connection for all, which goes a moment after the last one has ended", async () => {
    const { listen, backends, connected } = await journal(50);
    expect(await backends()).toEqual([]);
    const stops = Array.from({ length: 20 }, listen);
    await connected();
    const before = await backends();
    for (const stop of stops) stop();
    listen()();
    const again = listen();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await backends()).toEqual(before);

    again();
    again();
    await expect.poll(backends).toEqual([]);

    listen();
    await connected();
  });

  test("that was said last is heard by whoever begins to listen, who may have missed it on the way", async () => {
    const { say, listen, heard, connected } = await journal();
    const one = listen();
    await connected();
    await say("4");
    await expect.poll(() => heard).toEqual([4]);
    one();

    listen();

    expect(heard).toEqual([4, 4]);
  });

  test("from a server that cannot be reached do not come, and nobody hears of it", async () => {
    const { config } = parsePostgresLocation("postgres://nobody@127.0.0.1:1/nothing");
    const listening = new Listening({ config, timeoutMs: 1_000 }, channelOf("unreachable"));
    const end = listening.listen(() => {});
    await new Promise((resolve) => setTimeout(resolve, 500));

    end();
    listening.close();
    listening.close();
    expect(listening.listen(() => {})()).toBeUndefined();
  });

  test("come by a channel whose name fits, whatever the schema is called", () => {
    expect(channelOf("runledger")).toBe(channelOf("runledger"));
    for (const schema of ["a", "ü".repeat(31), 'A "quoted" one']) expect(channelOf(schema)).toMatch(/^[a-z0-9_]{42}$/);
  });
});
