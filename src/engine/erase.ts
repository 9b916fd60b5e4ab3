/** Erasing contents: what is looked up before and under the write lock, and what is decided from it.
 *  Invariants: the decision rests on every entry up to the head, however many were appended while it was looked for them;
 *  it is pure, and a dry run makes the very same; all that one call names is erased, or nothing. Source: design section 4,
 *  decision 0015. */
import { invariant, LedgerError, invalid, limit } from "../kernel/errors.js";
import { isDigest } from "../kernel/digest.js";
import { erasedPerCallMax } from "../kernel/limits.js";
import { checkBoolean, checkMembers, checkSignal, isList } from "../kernel/members.js";
import { parseLabel, parseReason } from "../kernel/names.js";
import { receiptType } from "../journal/events/receipt.js";
import type { StoreReads } from "../journal/store.js";
import { ErasureSearch } from "./erase-search.js";
import type { FoundContent } from "./erase-search.js";
import { redactLabel } from "./redact.js";
import type { Redact } from "./redact.js";
import type { ErasedContent, EraseOptions, ErasurePlan } from "./types.js";

/** A checked wish. */
export interface PreparedErasure {
  /** Each once. */
  readonly digests: readonly string[];
  readonly reason: string;
  readonly actor: string | undefined;
  readonly shared: boolean;
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}

const optionNames = ["reason", "shared", "dryRun", "actor", "signal"];

/** Checks what a caller gave, or throws what is wrong with it. */
export function prepareErasure(
  digests: readonly string[],
  options: EraseOptions & { readonly dryRun?: boolean },
  redact: Redact | undefined,
): PreparedErasure {
  checkMembers(options, "options", optionNames);
  checkSignal(options.signal, "options.signal");
  checkBoolean(options.shared, "options.shared");
  checkBoolean(options.dryRun, "options.dryRun");
  if (!isList(digests) || digests.length === 0) throw invalid("digests", "a list of at least one digest", digests);
  const distinct = new Set<string>();
  for (const [index, digest] of (digests as readonly unknown[]).entries()) {
    if (!isDigest(digest)) throw invalid(`digests[${index}]`, "64 lower-case hex digits", digest);
    distinct.add(digest);
  }
  const once = [...distinct];
  if (once.length > erasedPerCallMax) throw limit("digests", "contents a call", erasedPerCallMax, once.length);
  const actor = redactLabel(redact, options.actor, { kind: "actor", path: "options.actor" });
  const reason = redactLabel(redact, options.reason, { kind: "reason", path: "options.reason" });
  return {
    digests: once,
    reason: parseReason(reason, "options.reason"),
    actor: actor === undefined ? undefined : parseLabel(actor, "options.actor"),
    shared: options.shared ?? false,
    dryRun: options.dryRun ?? false,
    signal: options.signal,
  };
}

/** Runs reads at one position: on a snapshot of their own, or in the open transaction. */
export type Reading = <Result>(read: (reads: StoreReads) => Promise<Result>) => Promise<Result>;

/** The row of a content when it was looked at. */
interface SeenRow {
  /** Up to which position the entries were known. */
  readonly seenAt: number;
  readonly state: { readonly media: string } | { readonly erased: number } | null;
}

const rowsPerRead = 256;
const streamsShown = 100;

export class Erasing {
  readonly wish: PreparedErasure;
  private readonly search: ErasureSearch;
  private readonly rows = new Map<number, SeenRow>();

  constructor(wish: PreparedErasure) {
    this.wish = wish;
    this.search = new ErasureSearch(wish.digests);
  }

  /** Reads the entries that it does not know yet, and the rows of the contents that they name. */
  async look(reading: Reading, signal?: AbortSignal): Promise<void> {
    const check = (): void => {
      if (signal?.aborted === true)
        throw new LedgerError("ABORTED", "the erasure was given up", { cause: signal.reason });
    };
    // A store may answer without ever leaving the event loop to others.
    const turn = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      check();
    };
    check();
    await this.search.readOn((from, count) => reading((reads) => reads.entries(from, count)), turn);
    const { found: named, salts } = this.search;
    const wanted = [...named.values(), ...salts.values()].filter(({ n }) => !this.rows.has(n));
    while (wanted.length > 0) {
      const some = wanted.splice(0, rowsPerRead);
      const rows = await reading((reads) => reads.contentFacts(some.map(({ n }) => n)));
      some.forEach((found, index) => {
        const row = rows[index] ?? null;
        const state = row?.digest === found.digest ? row : null;
        this.rows.set(found.n, {
          seenAt: this.search.position,
          state: state === null ? null : "erased" in state ? { erased: state.erased } : { media: state.media },
        });
      });
      await turn();
    }
  }

  /** What is to be erased, or the refusal. */
  decide(): ErasurePlan {
    const contents = this.wish.digests.flatMap((digest) => this.decideOne(digest));
    const shared = contents.filter(({ digest }) => streamsOf(contents, digest).length > 1);
    if (shared.length > 0 && !this.wish.shared) throw refuseShared(shared, contents);
    return { reason: this.wish.reason, contents, salts: this.decideSalts(contents), elsewhere };
  }

  /** The salts that go too: with one of them a guess of what was erased could be checked. One that is gone already, or
   *  missing, is no reason to keep what is to be erased. */
  private decideSalts(contents: readonly ErasedContent[]): ErasedContent[] {
    const going = new Set(contents.map(({ n }) => n));
    return [...this.search.salts.values()].flatMap((salt) => {
      const { state } = this.rowOf(salt.n);
      if (state === null || going.has(salt.n) || this.erasedAt(salt) !== null) return [];
      const { n, digest, bytes, entries, of } = salt;
      return [...of].some((each) => going.has(each)) ? [{ digest, n, media: this.mediaOf(salt), bytes, entries }] : [];
    });
  }

  private decideOne(digest: string): ErasedContent[] {
    const found = this.search.under(digest);
    if (found.length === 0)
      throw new LedgerError("NOT_FOUND", `a content ${digest} must be named by an event, found none`, {
        details: { digest },
      });
    const contents: ErasedContent[] = [];
    let erased: LedgerError | undefined;
    for (const each of found) {
      const { n, bytes, entries } = each;
      const at = this.erasedAt(each);
      if (at === null) contents.push({ digest, n, media: this.mediaOf(each), bytes, entries });
      else
        erased ??= new LedgerError("CONTENT_ERASED", `content ${n} ${digest} was erased by event #${at}`, {
          details: { digest, n, erasedBy: at },
        });
    }
    if (contents.length === 0 && erased !== undefined) throw erased;
    return contents;
  }

  /** Position of the event that erased it; null when it is stored. A row that is there although an event said otherwise was
   *  put back by somebody, and is erased again. */
  private erasedAt({ n, erasedAt }: FoundContent): number | null {
    const row = this.rowOf(n);
    if (row.state !== null && "erased" in row.state) return row.state.erased;
    return erasedAt !== null && erasedAt > row.seenAt ? erasedAt : null;
  }

  private mediaOf({ n, digest, entries }: FoundContent): string {
    const { state } = this.rowOf(n);
    if (state !== null && "media" in state) return state.media;
    const position = entries[0]?.position;
    throw new LedgerError(
      "CONTENT_MISSING",
      `content ${n} ${digest} of event #${position} must be stored, found nothing`,
      {
        details: { digest, n, position },
        hint: "run `runledger verify` on it",
      },
    );
  }

  private rowOf(n: number): SeenRow {
    const row = this.rows.get(n);
    invariant(row !== undefined, "the row of a content is read before it is decided on");
    return row;
  }
}

/** Where copies may live that an erasure does not reach. Attack T54. */
export const elsewhere: readonly string[] = [
  "backups of the ledger, and evidence that was exported from it",
  "copies of its file and of its write-ahead log that were made by other means",
  "snapshots and versions that the file system, the disk or the machine keeps, and blocks that a disk has set aside",
  "private copies that readers of this ledger have open",
  "logs, traces and caches of the programs that wrote the content or read it",
  "memory, swap and core dumps of running programs",
];

function refuseShared(shared: readonly ErasedContent[], contents: readonly ErasedContent[]): LedgerError {
  const [first, ...others] = shared;
  invariant(first !== undefined, "there is a shared content to speak of");
  const { digest, n } = first;
  const streams = streamsOf(contents, digest);
  const more = others.length === 0 ? "" : `, and ${others.length} more contents are shared too`;
  const shown = streams.slice(0, 3).join(", ") + (streams.length > 3 ? ", …" : "");
  return new LedgerError(
    "CONTENT_SHARED",
    `content ${n} ${digest} must be named by events of one stream, found ${streams.length}: ${shown}${more}`,
    {
      details: {
        digest,
        n,
        streams: streams.slice(0, streamsShown),
        streamCount: streams.length,
        shared: shared.map((each) => each.digest),
      },
      hint: "look at the events that name it; with `shared: true` it is erased for all of them",
    },
  );
}

/** The streams whose events name a digest. A receipt repeats what its command answered, and shares nothing. */
function streamsOf(contents: readonly ErasedContent[], digest: string): string[] {
  const naming = contents.filter((content) => content.digest === digest).flatMap(({ entries }) => entries);
  return [...new Set(naming.filter(({ type }) => type !== receiptType).map(({ stream }) => stream))];
}
