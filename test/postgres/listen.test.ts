/** Hints between processes: that they come, that they are one number and nothing else, and that a connection which is lost costs
 *  hints and nothing else. */
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { announce, channelOf, Listening } from "../../src/store/postgres/listen.js";

const url = process.env["RUNLEDGER_TEST_POSTGRES"]!;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

let journals = 0;

/** A channel of its own, somebody who listens there, and a connection to say something on. */
async function journal({ lingerMs }: { lingerMs?: number } = {}) {
  const channel = channelOf(`listen_test_${process.pid}_${journals++}`);
  const speaker = await connect();
  const listening = new Listening({ connect, channel, ...(lingerMs === undefined ? {} : { lingerMs }) });
  ends.push(() => listening.close());
  const backends = async (): Promise<number[]> =>
    (await speaker.query(`SELECT pid FROM pg_stat_activity WHERE query = $1`, [`LISTEN ${channel}`])).rows.map(
      ({ pid }: { pid: number }) => pid,
    );
  const connected = (): Promise<void> => expect.poll(backends).toHaveLength(1);
  const heard: number[] = [];
  const listen = (): (() => void) => listening.listen((position) => heard.push(position));
  return { channel, speaker, listening, listen, heard, backends, connected };
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  ends.push(() => client.end());
  return client;
}

describe("hints by LISTEN", () => {
  test("come from another connection, to all who listen, until they have ended", async () => {
    const { channel, speaker, listening, listen, heard, connected } = await journal();
    const [one, other] = [listen(), listen()];
    await connected();

    await announce(speaker, channel, 7);
    await expect.poll(() => heard).toEqual([7, 7]);
    one();
    await announce(speaker, channel, 9);
    await expect.poll(() => heard).toEqual([7, 7, 9]);
    other();
    await announce(speaker, channel, 11);
    const last: number[] = [];
    ends.push(listening.listen((position) => last.push(position)));

    await announce(speaker, channel, 12);
    await expect.poll(() => last.at(-1)).toBe(12);
    expect(heard).toEqual([7, 7, 9]);
  });

  test("are numbers: whatever else somebody sends is not heard", async () => {
    const { channel, speaker, listen, heard, connected } = await journal();
    listen();
    await connected();

    for (const payload of ["", "-1", "1.5", "1e3", "x".repeat(7_000), "9007199254740993", " 1", "NaN"])
      await speaker.query("SELECT pg_notify($1, $2)", [channel, payload]);
    await announce(speaker, channelOf("another journal"), 5);
    await announce(speaker, channel, 6);

    await expect.poll(() => heard).toEqual([6]);
  });

  test("go on when the connection was ended by the server", async () => {
    const { channel, speaker, listen, heard, backends, connected } = await journal();
    listen();
    await connected();
    const [before] = await backends();

    await speaker.query("SELECT pg_terminate_backend($1)", [before]);
    await expect.poll(async () => (await backends()).filter((pid) => pid !== before)).toHaveLength(1);

    await announce(speaker, channel, 3);
    await expect.poll(() => heard).toEqual([3]);
  });

  test("take one connection for all, which goes a moment after the last one has ended", async () => {
    const { listen, backends, connected } = await journal({ lingerMs: 50 });
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
    const { channel, speaker, listen, heard, connected } = await journal();
    const one = listen();
    await connected();
    await announce(speaker, channel, 4);
    await expect.poll(() => heard).toEqual([4]);
    one();

    listen();

    expect(heard).toEqual([4, 4]);
  });

  test("a server that cannot be reached costs hints, and nobody hears of it", async () => {
    let tried = 0;
    const listening = new Listening({
      channel: channelOf("unreachable"),
      connect: () => {
        tried++;
        return Promise.reject(new Error("nobody there"));
      },
    });
    const end = listening.listen(() => {});
    await expect.poll(() => tried).toBeGreaterThanOrEqual(2);

    end();
    listening.close();
    listening.close();
    expect(listening.listen(() => {})()).toBeUndefined();
  });

  test("an announcement that fails rejects nobody's promise", async () => {
    const { channel, speaker } = await journal();
    await speaker.end();

    await announce(speaker, channel, 1);
  });

  test("no transaction waits for the disk with an announcement, and later ones do again", async () => {
    const { channel, speaker } = await journal();

    await announce(speaker, channel, 1);

    expect((await speaker.query("SHOW synchronous_commit")).rows).toEqual([{ synchronous_commit: "on" }]);
  });

  test("the channel's name fits whatever the schema is called", () => {
    expect(channelOf("runledger")).toBe(channelOf("runledger"));
    for (const schema of ["a", "ü".repeat(31), 'A "quoted" one']) expect(channelOf(schema)).toMatch(/^[a-z0-9_]{42}$/);
  });
});
