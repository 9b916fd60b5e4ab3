/** The runs of a ledger with their owners, newest first: from the tables, or folded where a ledger that is open read-only has
 *  none that is current. */
import { queue } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import type { RunStatus } from "../../projections/run.js";
import { LedgerError } from "../index.js";
import type { Ledger, RunEntry } from "../index.js";
import { listLimitMax } from "../kernel/limits.js";
import { nowOf, ownerOf } from "./owner.js";
import { foundDocuments } from "./read-documents.js";

/** So many runs, or those of one status. */
export async function* listRuns(
  ledger: Ledger,
  status: RunStatus | undefined,
  count: number,
): AsyncGenerator<RunEntry, void, undefined> {
  if (!(await areTablesCurrent(ledger))) return yield* foldRuns(ledger, status, count);
  for (let after: string | null = null, left = count; left > 0;) {
    const limit = Math.min(left, listLimitMax);
    const page: Awaited<ReturnType<Ledger["runs"]["list"]>> = await ledger.runs.list({
      status,
      limit,
      ...(after === null ? {} : { after }),
    });
    yield* page.runs;
    if (page.next === null) return;
    after = page.next;
    left -= page.runs.length;
  }
}

async function areTablesCurrent(ledger: Ledger): Promise<boolean> {
  try {
    await ledger.runs.list({ limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof LedgerError && error.code === "NOT_READY") return false;
    throw error;
  }
}

async function* foldRuns(
  ledger: Ledger,
  status: RunStatus | undefined,
  count: number,
): AsyncGenerator<RunEntry, void, undefined> {
  const now = await nowOf(ledger);
  const past = await ledger.at((await ledger.status()).head.position);
  const items = past.projection(queue);
  const query = status === undefined ? { index: "created" } : { index: "status", prefix: [status] };
  for await (const { key, document } of foundDocuments(past.projection(runs), { ...query, order: "desc" }, count))
    yield { ...document, owner: ownerOf((await items.get(key))?.claim ?? null, now) };
}
