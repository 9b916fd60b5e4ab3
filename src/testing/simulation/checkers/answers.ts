/** What callers were told, held against the journal. */
import { commandName } from "../../model/call.js";
import { runOfStream } from "../evidence.js";
import type { Attempt, Checker, JournalEntry } from "../evidence.js";
import type { Told } from "../send.js";

/** What was acknowledged is in the journal, where and as its caller was told. */
export const acknowledged: Checker = {
  name: "acknowledged",
  check({ entries, attempts }, report) {
    for (const attempt of attempts) {
      const { told, mark } = attempt;
      if (told?.type !== "accepted") continue;
      const { ids = [], first = 0, count = 0, at, streams = [], adopted } = told;
      const written = entries.slice(first, first + count);
      const found = new Set(written.map(({ id }) => id));
      const missing = ids.filter((id) => !found.has(id));
      if (written.length < count || missing.length > 0)
        report(
          `${mark} must find its ${count} entries from #${first} on, found ${missing.length} of them missing`,
          runOf(attempt),
        );
      const asked = written.filter(({ id }) => ids.includes(id));
      if (adopted === false && asked.some(({ corr }) => corr !== mark))
        report(`${mark} must be told of its own entries, found those of another call`, runOf(attempt));
      if (written.some((entry) => entry.at !== at))
        report(`${mark} must be told the time of its entries, found ${at}`, runOf(attempt));
      for (const { stream, revision } of streams) {
        const last = asked.findLast((entry) => entry.stream === stream);
        if (last?.rev !== revision)
          report(`${mark} must be told revision ${last?.rev} of ${stream}, found ${revision}`, runOf(attempt));
      }
    }
  },
};

/** What was refused, or failed for certain, left nothing but what may be recorded of it, and nothing is in the journal that
 *  nobody asked for, or that was asked for once and happened twice. */
export const refused: Checker = {
  name: "refused",
  check({ entries, attempts }, report) {
    const byMark = new Map(attempts.map((attempt) => [attempt.mark, attempt]));
    const txOf = new Map<string, number>();
    for (const entry of entries) {
      const { seq, stream, type, corr, tx } = entry;
      if (stream === "journal/main" || type === "fence.refused") continue;
      const attempt = byMark.get(corr ?? "");
      const runId = runOfStream(stream);
      if (attempt === undefined) {
        report(`#${seq} must be of a call, found ${type} of nobody`, runId);
        continue;
      }
      const first = txOf.get(attempt.mark);
      if (first !== undefined && first !== tx[0])
        report(`${attempt.mark} must happen once, found it at #${first} and #${seq}`, runId);
      txOf.set(attempt.mark, tx[0]);
      const { told } = attempt;
      if (told?.type === "failed" && told.code !== "STORE_IN_DOUBT")
        report(`${attempt.mark} failed with ${told.code} and must leave nothing, found ${type} at #${seq}`, runId);
      if (told?.type === "refused" && (told.adopted || type !== "receipt.recorded"))
        report(`${attempt.mark} was refused with ${told.code} and must leave nothing, found ${type} at #${seq}`, runId);
      if (told?.type === "accepted" && told.adopted === true)
        report(`${attempt.mark} was answered from a receipt and must leave nothing, found ${type} at #${seq}`, runId);
    }
  },
};

/** Refusals of fences are recorded once for each key, generation and command, of generations that were issued, and only when
 *  somebody did come with such a fence. */
export const refusals: Checker = {
  name: "refusals",
  check({ entries, attempts }, report) {
    const seen = new Set<string>();
    const issued = new Map<string, number>();
    for (const entry of entries) {
      const claim = entry.data["claim"] as { readonly generation: number } | undefined;
      if (claim !== undefined) issued.set(entry.stream, claim.generation);
      if (entry.type !== "fence.refused") continue;
      const { key, generation, command } = entry.data as { key: string; generation: number; command: string };
      const runId = runOfStream(key);
      const name = `${key} ${generation} ${command}`;
      if (seen.has(name)) report(`#${entry.seq} must be recorded once, found ${name} again`, runId);
      seen.add(name);
      if (generation > (issued.get(key) ?? 0))
        report(`#${entry.seq} must be of a generation that was issued, found ${generation}`, runId);
      if (entry.fence !== undefined)
        report(`#${entry.seq} must be written without a fence, found ${entry.fence[0]}`, runId);
      const came = attempts.some(
        ({ call: { fence, wishes }, told }) =>
          fence?.key === key &&
          fence.generation === generation &&
          wishes.some((wish) => commandName(wish) === command) &&
          (told === null || told.type === "failed" || (told.type === "refused" && told.code === "FENCED")),
      );
      if (!came) report(`#${entry.seq} must be of a call that was refused, found ${name} of nobody`, runId);
    }
  },
};

/** An id has one receipt, in the tx of what it says; every answer to it is the same. */
export const receipts: Checker = {
  name: "receipts",
  check({ entries, attempts }, report) {
    const kept = new Map<string, JournalEntry>();
    for (const entry of entries) {
      if (entry.type !== "receipt.recorded") continue;
      const id = String(entry.data["id"]);
      if (kept.has(id)) report(`${id} must have one receipt, found #${kept.get(id)?.seq} and #${entry.seq}`);
      kept.set(id, entry);
      if (entry.seq !== entry.tx[0] + entry.tx[1] - 1)
        report(`#${entry.seq} must be the last of its tx, found others behind it`);
    }
    for (const { seq, command, tx, stream } of entries) {
      if (command !== undefined && kept.get(command)?.tx[0] !== tx[0])
        report(
          `#${seq} of ${command} must be in the tx of its receipt, found ${kept.get(command)?.seq ?? "none"}`,
          runOfStream(stream),
        );
    }
    const answers = new Map<string, Attempt>();
    for (const attempt of attempts) {
      const { call, told, mark } = attempt;
      if (call.id === null || told === null || !isKept(told)) continue;
      if (!kept.has(call.id)) report(`${mark} must have a receipt, found none of ${call.id}`, runOf(attempt));
      const name = `${call.id} ${JSON.stringify(call)}`;
      const first = answers.get(name);
      if (first === undefined) answers.set(name, attempt);
      else if (say(first.told!) !== say(told))
        report(`${mark} must be answered as ${first.mark}, ${say(first.told!)}, found ${say(told)}`, runOf(attempt));
    }
  },
};

/** A refusal for the moment, and one of the id itself, leave no receipt. */
function isKept(told: Told): boolean {
  if (told.type === "refused") return told.code !== "SLOT_TAKEN" && told.code !== "IDEMPOTENCY_CONFLICT";
  return told.type === "accepted";
}

function say(told: Told): string {
  const { adopted: _, ...said } = { adopted: false, ...told };
  return JSON.stringify(said, (_name, value: unknown) => (isPlain(value) ? sorted(value) : value));
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function runOf({ call }: Attempt): string | null {
  const wish = call.wishes.find((each) => "runId" in each);
  return wish !== undefined && "runId" in wish ? wish.runId : runOfStream(call.fence?.key ?? "");
}
