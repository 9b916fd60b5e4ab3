/** What a NOTIFY costs within the commits of many journals, and behind them: each connection writes a table of its own, as the
 *  writer of a journal does, batch after batch. */
import pg from "pg";
import { callers, interleave, rate, ratio, spreadOf } from "../harness/rounds.js";
import type { Sample } from "../harness/rounds.js";
import type { Figure } from "../harness/report.js";

type Where = "nowhere" | "inside" | "behind" | "behindAndDurable";

const rowsPerBatch = 16;
const insert = `INSERT INTO notify_WRITER (entry) SELECT repeat('x', 340) FROM generate_series(1, ${rowsPerBatch})`;
const say = "SELECT pg_notify('writer_' || $1, $2)";
const sayInPassing = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('writer_' || $1, $2)";

export async function measureNotify(url: string, writers: number, rounds: number): Promise<readonly Figure[]> {
  const clients = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const client = new pg.Client({ connectionString: url, pipeline: true });
      await client.connect();
      await client.query(
        `CREATE TABLE IF NOT EXISTS notify_${writer} (seq bigserial PRIMARY KEY, entry text NOT NULL)`,
      );
      return client;
    }),
  );
  const listeners = await Promise.all(
    clients.map(async (_, writer) => {
      const client = new pg.Client(url);
      await client.connect();
      await client.query(`LISTEN writer_${writer}`);
      return client;
    }),
  );
  let position = 0;
  const commit = async (writer: number, where: Where): Promise<void> => {
    const client = clients[writer]!;
    const values = [String(writer), String(position++)];
    const text = insert.replace("WRITER", String(writer));
    const sent: Promise<unknown>[] = [client.query("BEGIN"), client.query({ name: "insert", text })];
    if (where === "inside") sent.push(client.query({ name: "say", text: say, values }));
    sent.push(client.query("COMMIT"));
    if (where === "behind") client.query({ name: "in passing", text: sayInPassing, values }).catch(() => {});
    if (where === "behindAndDurable") client.query({ name: "say", text: say, values }).catch(() => {});
    await Promise.all(sent);
  };
  const turn = (where: Where) => (): Promise<Sample> => callers(writers, 300, (writer) => commit(writer, where));
  const samples = await interleave(
    {
      nowhere: turn("nowhere"),
      inside: turn("inside"),
      behind: turn("behind"),
      behindAndDurable: turn("behindAndDurable"),
    },
    rounds,
  );
  await Promise.all([...clients, ...listeners].map((client) => client.end()));
  const shown = (what: string, name: keyof typeof samples): Figure => {
    const { median, min, max } = ratio(samples[name], rate, samples.nowhere);
    const note = `${median.toFixed(2)} [${min.toFixed(2)}..${max.toFixed(2)}] of those without`;
    return { what: `${writers} writers: ${what}`, value: spreadOf(samples[name], rate), unit: "batches/s", note };
  };
  return [
    shown("no NOTIFY", "nowhere"),
    shown("NOTIFY within the commit", "inside"),
    shown("NOTIFY behind it, not waiting for the disk", "behind"),
    shown("NOTIFY behind it, waiting for the disk", "behindAndDurable"),
  ];
}
