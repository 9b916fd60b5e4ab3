/** Works through the run queue until SIGTERM, WIDTH items at once, and says which it had in hand and what became of them. Each
 *  item has one effect, an event under its fence. KIND "loop" asks for everything by itself, and does not believe the first
 *  refusal; KIND "worker" leaves that to `ledger.worker`. With "patient" it asks again for what the store refused for certain.
 *  usage: queue-worker.mjs PATH NAME KIND WIDTH LEASE_MS [patient] */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, name, kind, width, leaseMs, patient] = process.argv
  .slice(2)
  .map((text) => (/^\d+$/.test(text) ? Number(text) : text));
const say = (what, { key, generation }, more) =>
  writeSync(1, `${JSON.stringify({ what, key, generation, ...more })}\n`);

const parent = process.ppid;
// An empty queue would keep an orphan for ever.
setInterval(() => {
  if (process.ppid !== parent) throw new Error("the test is gone");
}, 1_000).unref();

/** Nothing was written, says this code: whoever believes it may ask again, and has one effect for it. */
const isOutage = (error) => patient === "patient" && error.code === "STORE_UNAVAILABLE";

async function again(doing) {
  for (;;) {
    try {
      return await doing();
    } catch (error) {
      if (!isOutage(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const ledger = await again(() => openLedger(path, { busyTimeoutMs: 600_000 }));
const affect = (fence) =>
  again(() => ledger.append(`effect/${fence.key}`, [{ type: "effect.made", data: { by: name } }], { fence }));

/** False, and said, when it was refused because of its fence. */
async function attempt(doing, fence, write) {
  try {
    await again(write);
    return true;
  } catch (error) {
    if (error.code !== "FENCED") throw error;
    say("fenced", fence, { doing, reason: error.details.reason });
    return false;
  }
}

async function runLoop() {
  const stopping = new AbortController();
  process.once("SIGTERM", () => stopping.abort());
  writeSync(1, "ready\n");
  const hand = async () => {
    for (let count = 1; !stopping.signal.aborted; count++) {
      const claimed = await again(() => ledger.queue.claimNext({ holder: name, leaseMs }));
      if (claimed === null) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      const { fence } = claimed;
      say("claimed", fence);
      if (count % 8 === 0) await attempt("queue.renew", fence, () => ledger.queue.renew(fence, leaseMs));
      await attempt("append", fence, () => affect(fence));
      say("completing", fence);
      if (await attempt("queue.complete", fence, () => ledger.queue.complete(fence))) say("done", fence);
    }
  };
  await Promise.all(Array.from({ length: width }, hand));
}

async function runWorker() {
  const worker = ledger.worker({
    queue: {},
    holder: name,
    concurrency: width,
    leaseMs,
    signals: ["SIGTERM"],
    async handle(job) {
      say("claimed", job.fence);
      await affect(job.fence);
      say("completing", job.fence);
      await job.complete(); // it asks again by itself, for as long as the claim lasts
      say("done", job.fence);
    },
    onError(error, { doing, runId }) {
      const { reason, offered } = error.details ?? {};
      if (error.code === "FENCED") say("lost", { key: `queue/${runId}`, generation: offered }, { doing, reason });
      else if (!isOutage(error)) console.error(doing, runId, error);
    },
  });
  writeSync(1, "ready\n");
  await worker.stopped;
}

await (kind === "loop" ? runLoop() : runWorker());
await ledger.close();
