/** The slow look at one row: says what is wrong with it, and goes on from what is stored.
 *  Invariant: after a broken row the pass is in step with the stored bytes again, so that one edit gives one or two
 *  findings and not thousands. What could not be read explains as many jumps in revisions and content numbers later. */
import { contentReferences } from "../journal/content.js";
import { checkEntry, entryId, EntryProblem, parseEntry } from "../journal/entry.js";
import type { EntryFields } from "../journal/entry.js";
import { decodeUtf8 } from "../kernel/canonical.js";
import { isDigest } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import { clockStepMsMax, entryBytesMax } from "../kernel/limits.js";
import type { RawEntry } from "../journal/raw-reader.js";
import { IdIndex } from "./causes.js";
import type { FindingCode, Sight } from "./findings.js";
import type { JournalEvents } from "./journal-events.js";
import type { PassState, TxMark } from "./pass.js";
import type { StreamState } from "./streams.js";

/** The code for a field that the format does not allow, where the field has a check of its own. */
const codeOfField: Readonly<Record<string, FindingCode>> = {
  rev: "E_REV",
  seq: "E_SEQ",
  prev: "E_PREV",
  cause: "E_CAUSE",
  tx: "E_TX",
  "tx[0]": "E_TX",
  "tx[1]": "E_TX",
};

export class Explainer {
  private readonly state: PassState;
  private readonly journal: JournalEvents;
  /** The tx that was interrupted by an entry of another one; what follows may still belong to it. */
  private interrupted: TxMark | null = null;

  constructor(state: PassState, journal: JournalEvents) {
    this.state = state;
    this.journal = journal;
  }

  /** Looks at a row, reports what is wrong with it and moves on. */
  async explain(row: RawEntry): Promise<void> {
    const position = this.place(row.seq);
    if (position === null) return;
    this.checkTypes(row, position);
    const stored = await this.stored(row.entry, position);
    if (stored === null) {
      this.report("E_TYPE", position, null, { message: "entry must be text", have: row.entry });
      this.state.tree?.lose();
      return this.settle(null, row, position, isDigest(row.id) ? row.id : null);
    }
    const id = entryId(stored);
    const read = readEntry(stored);
    // What a leaf of another format is, this version does not know.
    if (read.problem?.kind === "version") this.state.tree?.lose();
    if (typeof row.id === "string" && row.id !== id) {
      this.report("E_ID", position, read.fields, { want: row.id, have: id });
      if (read.problem?.kind === "canonical") this.report("E_CANON", position, null, { message: read.problem.message });
      if (read.problem === null && read.fields.seq + this.state.offset === position)
        this.checkLink(read.fields, position);
      await this.settle(read.fields, row, position, id);
      this.state.claimed = row.id;
      return;
    }
    if (read.problem !== null) {
      this.report(codeOf(read.problem), position, read.fields, { message: read.problem.message });
      return this.settle(read.fields, row, position, id);
    }
    await this.judge(read.fields, row, position, id);
  }

  /** Takes the row's position and says what is missing before it; null when it has none. */
  private place(seq: unknown): number | null {
    const { state } = this;
    if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) {
      state.parts.findings.add("E_TYPE", {
        where: `entries after #${state.next - 1}`,
        message: "seq must be an integer from 0",
        have: seq,
      });
      return null;
    }
    if (seq < state.next) {
      state.parts.findings.add("E_SEQ", {
        position: seq,
        message: "two rows have the same position, or rows are out of order",
        want: state.next,
        have: seq,
      });
      return null;
    }
    if (seq > state.next) {
      const missing = seq - state.next;
      const message = missing === 1 ? `#${state.next} is missing` : `#${state.next} to #${seq - 1} are missing`;
      state.parts.findings.add("E_SEQ_GAP", { position: state.next, message, want: state.next, have: seq });
      state.missed(state.next, seq - 1);
      state.previous = null;
      state.tx = null;
      state.next = seq;
    }
    return seq;
  }

  private checkTypes(row: RawEntry, position: number): void {
    const wrong: string[] = [];
    if (row.id !== null && typeof row.id !== "string") wrong.push("id");
    for (const column of ["stream", "rev", "before", "type", "at", "skew"] as const) {
      const value = row[column];
      if (value !== null && !(typeof value === "number" && Number.isSafeInteger(value))) wrong.push(column);
    }
    const names = row.misfits ?? wrong.join(", ");
    if (names !== "")
      this.report("E_TYPE", position, null, {
        message: `${names} must be of the type of the column`,
        have: row[names.split(", ")[0] as keyof RawEntry],
      });
  }

  /** The stored bytes, or text that stands for no other bytes. */
  private async stored(entry: unknown, position: number): Promise<string | Uint8Array | null> {
    if (entry instanceof Uint8Array) return entry;
    if (typeof entry !== "string") return null;
    if (!entry.includes("\ufffd")) return entry;
    const [again] = await this.state.parts.reader.entries(position === 0 ? null : position - 1, 1, true);
    return again?.seq === position && again.entry instanceof Uint8Array ? again.entry : entry;
  }

  /** Judges an entry whose bytes are sound by everything that is known of the journal before it. */
  private async judge(fields: EntryFields, row: RawEntry, position: number, id: string): Promise<void> {
    const { state } = this;
    const { streams, types, contents } = state.parts;
    const offset = position - fields.seq;
    if (offset !== state.offset) {
      if (offset !== 0) this.report("E_SEQ", position, fields, { want: position, have: fields.seq });
      state.offset = offset;
      state.unread++;
      state.incomplete = true;
      state.previous = null;
      state.tx = null;
      if (offset !== 0) return this.settle(fields, row, position, id, fields.seq);
    }
    this.checkLink(fields, position);
    this.checkTx(fields, position);
    const rowStream = await streams.find(row.stream);
    const stream = streams.named(fields.stream);
    const before = this.checkRevision(stream, fields, position);
    this.checkColumns(row, rowStream, stream, before, fields, position);
    if (fields.cause !== undefined) await this.checkCause(fields.cause, fields, position);
    this.checkClock(fields, position);
    this.journal.check(fields, position);

    const naming = { position, stream: fields.stream, revision: fields.rev };
    const references = contentReferences(fields.data, () => {
      this.report("E_CONTENT_REFERENCE", position, fields, {
        message: "a member named $content is no content reference",
      });
      contents.unread++;
    });
    for (const reference of references) contents.name(reference, naming);
    types.use(fields.type);
    state.moveOn(position, id, fields.at);
  }

  /** Goes on behind an entry that is not sound: what it says is believed as far as it fits, then what its columns say. */
  private async settle(
    fields: EntryFields | null,
    row: RawEntry,
    position: number,
    id: string | null,
    unread = position,
  ): Promise<void> {
    const { state } = this;
    const { streams, types, contents } = state.parts;
    const own = position - state.offset;
    const said = fields === null ? undefined : streams.known(fields.stream);
    const copied = await streams.find(row.stream);
    if (fields !== null && said !== undefined && fields.rev === said.revision + 1) {
      streams.advance(said, fields.rev, own);
      if (said.special) contents.unread++; // it may have erased some
      for (const reference of contentReferences(fields.data))
        contents.follow(reference, { position, stream: fields.stream, revision: fields.rev });
    } else if (copied !== undefined && row.rev === copied.revision + 1) {
      streams.advance(copied, copied.revision + 1, own);
      contents.unread++;
    } else state.missed(unread);

    if (fields !== null && fields.seq === own && this.fits(fields, state.tx))
      state.tx = { first: fields.tx[0], count: fields.tx[1], at: fields.at };
    else if (!state.inTx(own)) state.tx = null;
    const type = types.numbered(row.type);
    if (type !== undefined) type.used = true;
    const follows =
      typeof row.at === "number" && row.at >= state.at && (row.at - state.at <= clockStepMsMax || state.rows === 0);
    state.moveOn(position, id, follows ? row.at : state.at, isDigest(row.id) ? row.id : id);
  }

  private checkLink(fields: EntryFields, position: number): void {
    const { previous, claimed } = this.state;
    if (previous === null || fields.prev === previous || fields.prev === claimed) return;
    this.report("E_PREV", position, fields, { want: previous, have: fields.prev });
  }

  private checkTx(fields: EntryFields, position: number): void {
    const { state } = this;
    const { tx } = state;
    const [first, count] = fields.tx;
    if (this.fits(fields, tx)) {
      if (tx !== null && state.inTx(fields.seq) && fields.at !== tx.at) {
        this.report("E_TX", position, fields, {
          message: "the entries of a tx must have one time",
          want: tx.at,
          have: fields.at,
        });
      }
    } else if (!this.resumes(fields)) {
      const want = tx !== null && state.inTx(fields.seq) ? `[${tx.first},${tx.count}]` : `[${fields.seq},…]`;
      this.report("E_TX", position, fields, { want, have: `[${first},${count}]` });
      this.interrupted = tx;
    }
    state.tx = tx !== null && tx.first === first && tx.count === count ? tx : { first, count, at: fields.at };
  }

  /** Does an entry belong to a tx that is not at its end, or start one behind it? */
  private fits({ seq, tx: [first, count] }: EntryFields, tx: TxMark | null): boolean {
    if (tx === null) return true;
    return seq < tx.first + tx.count ? first === tx.first && count === tx.count : first === seq;
  }

  /** Does an entry go on with the tx that another one interrupted? */
  private resumes({ seq, tx: [first, count] }: EntryFields): boolean {
    const { interrupted } = this;
    return (
      interrupted !== null &&
      seq < interrupted.first + interrupted.count &&
      first === interrupted.first &&
      count === interrupted.count
    );
  }

  /** Moves the stream on; answers the position of the entry before, or undefined when it could not be read. */
  private checkRevision(stream: StreamState, fields: EntryFields, position: number): number | null | undefined {
    const { state } = this;
    const { last } = stream;
    const missing = fields.rev - stream.revision - 1;
    const explained = missing > 0 && missing <= state.unread;
    if (explained) state.unread -= missing;
    else if (missing !== 0) this.report("E_REV", position, fields, { want: stream.revision + 1, have: fields.rev });
    if (missing >= 0) state.parts.streams.advance(stream, fields.rev, fields.seq);
    else stream.last = fields.seq;
    return explained ? undefined : last;
  }

  private checkColumns(
    row: RawEntry,
    rowStream: StreamState | undefined,
    stream: StreamState,
    before: number | null | undefined,
    fields: EntryFields,
    position: number,
  ): void {
    const wrong: { readonly column: string; readonly want: unknown; readonly have: unknown }[] = [];
    const compare = (
      column: "id" | "stream" | "rev" | "before" | "type" | "at" | "skew",
      right: boolean,
      want: unknown,
    ): void => {
      const have = row[column];
      if (!right && (have === null || Number.isSafeInteger(have))) wrong.push({ column, want, have });
    };
    const { skew } = row;
    compare("id", row.id !== null, "an id");
    compare("stream", rowStream === stream, stream.number);
    compare("rev", row.rev === fields.rev, fields.rev);
    compare("before", before === undefined || row.before === before, before);
    compare("type", this.state.parts.types.numbered(row.type)?.name === fields.type, fields.type);
    compare("at", row.at === fields.at, fields.at);
    compare("skew", typeof skew === "number" && skew >= 0 && skew <= fields.at, "from 0 to at");
    const [first] = wrong;
    if (first === undefined) return;
    const names = wrong.map(({ column }) => column).join(", ");
    this.report("E_COLUMN", position, fields, {
      message: `${wrong.length === 1 ? "column" : "columns"} ${names} differ from the entry`,
      want: first.want,
      have: first.have,
    });
  }

  private async checkCause(cause: string, fields: EntryFields, position: number): Promise<void> {
    const { state } = this;
    state.causes++;
    state.ids ??= await IdIndex.read(state.first, position, state.parts.reader);
    const found = state.ids.find(cause);
    if (found === null && state.incomplete) return; // it may be one that could not be read
    if (found === null)
      this.report("E_CAUSE", position, fields, {
        message: "the cause must be an earlier entry, found none with this id",
        have: cause,
      });
    else if (found >= fields.tx[0] + state.offset)
      this.report("E_CAUSE", position, fields, {
        message: `the cause must be of an earlier tx, found #${found}`,
        have: cause,
      });
  }

  private checkClock(fields: EntryFields, position: number): void {
    const { state } = this;
    const step = fields.at - state.at;
    if (state.rows === 0) return;
    if (step < 0)
      this.report("W_CLOCK", position, fields, {
        message: `the time is ${-step} ms behind that of the entry before`,
        want: state.at,
        have: fields.at,
      });
    else if (step > clockStepMsMax)
      this.report("W_CLOCK", position, fields, {
        message: "the time steps more than 366 days past that of the entry before",
        want: state.at,
        have: fields.at,
      });
  }

  private report(code: FindingCode, position: number, fields: EntryFields | null, sight: Sight): void {
    this.state.parts.findings.add(code, {
      position,
      stream: fields?.stream ?? null,
      revision: fields?.rev ?? null,
      ...sight,
    });
  }
}

type ReadEntry =
  | { readonly fields: EntryFields; readonly problem: null }
  | { readonly fields: EntryFields | null; readonly problem: EntryProblem };

/** Parses stored bytes; when they are no entry, what they say may still be one in another spelling. */
function readEntry(stored: string | Uint8Array): ReadEntry {
  const bytes = typeof stored === "string" ? Buffer.byteLength(stored) : stored.length;
  // Not parsed: whoever stored it may have stored a gigabyte.
  if (bytes > entryBytesMax)
    return {
      fields: null,
      problem: new EntryProblem("field", "entry", `entry must be at most ${entryBytesMax} bytes, found ${bytes}`),
    };
  try {
    return { fields: parseEntry(stored), problem: null };
  } catch (problem) {
    if (!(problem instanceof EntryProblem)) throw problem;
    return { fields: problem.kind === "canonical" ? readLoosely(stored) : null, problem };
  }
}

function readLoosely(stored: string | Uint8Array): EntryFields | null {
  try {
    return checkEntry(JSON.parse(typeof stored === "string" ? stored : decodeUtf8(stored, "entry")), 0);
  } catch (error) {
    if (error instanceof EntryProblem || error instanceof LedgerError || error instanceof SyntaxError) return null;
    throw error;
  }
}

function codeOf(problem: EntryProblem): FindingCode {
  if (problem.kind === "version") return "E_FORMAT_VERSION";
  return codeOfField[problem.path.replace(/^entry\./, "")] ?? (problem.kind === "canonical" ? "E_CANON" : "E_FORMAT");
}
