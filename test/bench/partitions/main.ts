/** What a thousand journals in one database cost. Run it by name, after `npm run build && tsc -p test/bench`:
 *  node --expose-gc dist-bench/test/bench/partitions/main.js [JOURNALS] [PART…]
 *  The parts: notify, make, connections, spread, open; all of them when none is named. Figures, no targets. */
import { startServer } from "../../postgres/server.js";
import { formatFigure } from "../harness/report.js";
import type { Figure } from "../harness/report.js";
import { makeJournals, measureConnections, measureSpread, openMany } from "./journals.js";
import { measureNotify } from "./notify.js";

const [journals = "1000", ...parts] = process.argv.slice(2);
const count = Number(journals);
/** Longer than idle connections are kept. */
const idleMs = 15_000;
const wanted = (part: string): boolean => parts.length === 0 || parts.includes(part);
const print = (figures: readonly Figure[]): void => figures.forEach((figure) => console.log(formatFigure(figure)));

const server = await startServer({ flags: ["-c", "max_connections=3000"] });
try {
  if (wanted("notify")) for (const writers of [1, 4, 16]) print(await measureNotify(server.url, writers, 7));
  if (wanted("make")) print(await makeJournals(server.url, count));
  if (wanted("connections")) print(await measureConnections(server.url, idleMs));
  if (wanted("spread"))
    for (const processes of [1, 4])
      for (const over of [1, 10, 100, 1_000].filter((each) => each <= count && each >= processes))
        print([await measureSpread(server.url, over, processes, 3_000)]);
  if (wanted("open")) print(await openMany(server.url, count, idleMs));
} finally {
  await server.stop();
}
