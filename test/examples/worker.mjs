import { openLedger } from "runledger";
import { queue } from "runledger/projections";

const ledger = await openLedger("./jobs.ledger");
await ledger.queue.enqueue({ runId: "invoice-7", input: { total: 42 } });

const worker = ledger.worker({
  queue: {},
  concurrency: 4,
  signals: ["SIGTERM"], // drains, so that others go on at once
  async handle(job, signal) {
    const { total } = (await job.input()).json();
    if (signal.aborted) return; // long work looks now and then, or hands the signal on
    const sent = [{ type: "invoice.sent", data: { total } }];
    await ledger.append(`invoice/${job.runId}`, sent, { fence: job.fence }); // refused once the claim is lost
  },
  onError: (error, { doing, runId }) => console.error(doing, runId, error),
});

const item = await ledger.waitFor(queue.get("invoice-7"), (found) => found?.status === "done");
console.log(item.status, item.generation); // done 1
await worker.stop();
await ledger.close();
