/** Is a journal intact? Reads stored rows through the raw reader port and trusts nothing but the format.
 *  Invariants: it writes nothing; it shares the format code with the writer and nothing else; what the store itself says
 *  is wrong comes before any verdict on content; a damaged page ends the reading, never the report. */
import { invariant, LedgerError } from "../kernel/errors.js";
import { abandon } from "../kernel/promises.js";
import type { EntryFields } from "../journal/entry.js";
import type { RawEntry, RawProblem, RawReader } from "../journal/raw-reader.js";
import type { ProvedRow } from "./claims.js";
import { Checkpoints } from "./checkpoints.js";
import type { JournalRead } from "./checkpoints.js";
import { conclude } from "./conclude.js";
import type { Checked } from "./conclude.js";
import { ContentTable } from "./contents.js";
import { DeepCheck } from "./deep.js";
import { Explainer } from "./explain.js";
import { lastPosition } from "./extent.js";
import { Findings } from "./findings.js";
import type { Sight } from "./findings.js";
import { JournalEvents } from "./journal-events.js";
import { checkReader, parseVerifyOptions } from "./options.js";
import type { Settings, VerifyOptions, VerifyProgress } from "./options.js";
import { PassState, Prover } from "./pass.js";
import type { PassParts } from "./pass.js";
import type { VerifyReport } from "./report.js";
import { RangePass, stoppedBy } from "./ranges-pass.js";
import type { RangeWorkers } from "./ranges.js";
import { fieldsOf, withText } from "./row-text.js";
import { EntryScanner } from "./scanner.js";
import { StreamTable } from "./streams.js";
import { Roots, TreeWalk } from "./tree.js";
import { compareNodes } from "./tree-nodes.js";
import { TypeTable } from "./types.js";

export type { VerifyOptions, VerifyProgress } from "./options.js";
export type { VerifyReport } from "./report.js";

/** Pages of about 200 KB stay in the processor's cache between reading and checking. */
const rowsPerRead = 512;
const quickEntries = 256;

/** Verifies a journal. Findings are in the report, never thrown; only a reader that fails for another reason than damage
 *  (`STORE_BUSY`, `STORE_UNAVAILABLE`), an abort or bad options throw. @public */
export async function verify(reader: RawReader, options: VerifyOptions = {}): Promise<VerifyReport> {
  checkReader(reader, "reader");
  const { onProgress, ...settings } = parseVerifyOptions(options);
  const files = settings.evidence ? await reader.evidence() : [];
  const checked = await check(reader, { ...settings, onProgress: growing(onProgress) });
  return conclude(reader, { files, unchanged: await reader.unchanged() }, checked, checked.parts.findings);
}

/** With the help that there is, and again without it where that does not get through. */
async function check(reader: RawReader, settings: Settings): Promise<Checked> {
  const { level, workers: start } = settings;
  // Asked for whoever wants it or not: what SQLite says of a page that is destroyed depends on what was read before it.
  const size = level === "quick" ? 0 : await sizeOf(reader);
  const workers = level === "full" && !reader.copied ? (start?.(size) ?? null) : null;
  try {
    const checked = workers === null ? null : await new Verification(reader, settings, size).run(workers);
    if (checked !== null) return checked;
  } finally {
    await workers?.close();
  }
  const checked = await new Verification(reader, settings, size).run(null);
  invariant(checked !== null, "a verification without help must come to an end");
  return checked;
}

/** How many entries there are to be read; 0 when that cannot be said. */
async function sizeOf(reader: RawReader): Promise<number> {
  try {
    return (await lastPosition(reader)) + 1;
  } catch (error) {
    if (error instanceof LedgerError) return 0; // whoever reads the entries meets it again
    throw error;
  }
}

/** Progress that never goes back, even when a verification starts over. */
function growing(onProgress: Settings["onProgress"]): Settings["onProgress"] {
  const shown = { entries: -1, contents: -1 };
  return (
    onProgress &&
    ((progress) => {
      if (progress.done <= shown[progress.phase]) return;
      shown[progress.phase] = progress.done;
      abandon(onProgress(progress));
    })
  );
}

/** One run over one reader. */
class Verification {
  private readonly reader: RawReader;
  private readonly settings: Settings;
  private readonly findings: Findings;
  private readonly parts: PassParts;
  private readonly journal: JournalEvents;
  private readonly checkpoints: Checkpoints;
  private readonly deep: DeepCheck | null;
  private state: PassState;
  private explainer: Explainer;
  private size: number;
  private checked = 0;
  private entriesRead = false;
  private roots: Roots | null = null;
  private root: string | null = null;
  private nodes: number | null = null;

  constructor(reader: RawReader, settings: Settings, size: number) {
    const findings = new Findings(settings.findingsMax);
    this.reader = reader;
    this.settings = settings;
    this.findings = findings;
    this.size = size;
    const contents = new ContentTable(findings, settings.level === "quick" ? null : 1);
    this.parts = { reader, findings, streams: new StreamTable(reader, findings), types: new TypeTable(), contents };
    this.journal = new JournalEvents(findings, contents);
    this.checkpoints = new Checkpoints(reader, findings, settings.from, settings.keys);
    this.deep = settings.level === "deep" ? new DeepCheck(reader, findings, this.journal, settings) : null;
    this.state = this.startAt(0);
    this.explainer = new Explainer(this.state, this.journal);
  }

  /** Runs every check; stops reading where the store is damaged. Null when the workers' help does not get through: then it is
   *  to be run again without. */
  async run(workers: RangeWorkers | null): Promise<Checked | null> {
    // They start while the rest of the store is looked at.
    const ranges =
      workers === null
        ? null
        : new RangePass(workers, { size: this.size, now: this.now(), signal: this.settings.signal });
    // The pages of the entries are shown to be whole by reading them; the store is asked for its own opinion when they are not.
    const problems = await this.reader.problems("but-entries");
    this.addProblems(problems, []);
    if (workers !== null && problems.length > 0) return null;
    try {
      // Counting is a scan of its own: the full level counts what it reads.
      if (this.settings.level === "quick") this.size = await this.reader.entryCount();
      await this.parts.types.load(this.reader, this.findings);
      if (this.settings.level === "quick") await this.quick();
      else if (!(await this.full(ranges))) return null;
    } catch (error) {
      this.reportUnreadable(error, problems);
      this.size = await this.reader.entryCount().catch(() => this.checked);
    }
    if (this.findings.total("FAIL") > 0) this.addProblems(await this.reader.problems("all"), problems);
    const { state, parts, journal, checkpoints, size, settings } = this;
    const { roots, root, nodes, deep } = this;
    return { settings, size, entries: this.checked, state, parts, journal, checkpoints, deep, roots, root, nodes };
  }

  private addProblems(problems: readonly RawProblem[], known: readonly RawProblem[]): void {
    for (const { code, where, message } of problems) {
      if (!known.some((each) => each.where === where && each.message === message))
        this.findings.add(code, { where, message });
    }
  }

  /** Says how far reading got, or throws what is no finding. */
  private reportUnreadable(error: unknown, problems: readonly RawProblem[]): void {
    const { next, first } = this.state;
    const reached = next === first ? "no entry could be read" : `entries were read up to #${next - 1}`;
    if (isDamage(error)) {
      this.findings.add("E_CORRUPT", {
        position: this.entriesRead ? null : next,
        message: `${error.message}; ${reached}`,
      });
      return;
    }
    const schema = problems.filter(({ code }) => code === "E_SCHEMA");
    const [problem] = schema;
    if (
      problem === undefined ||
      !(error instanceof LedgerError) ||
      error.code === "ABORTED" ||
      error.code === "STORE_BUSY"
    )
      throw error;
    // Tables that are not there cannot be read. Without the mark of a ledger it never was one.
    if (schema.some(({ where }) => where === "application_id")) {
      throw new LedgerError("STORE_FOREIGN", `${this.reader.location} is not a ledger: ${problem.message}`, {
        details: { location: this.reader.location },
        cause: error,
      });
    }
    this.findings.add("E_SCHEMA", { message: `${error.message}; ${reached}` });
  }

  private async full(ranges: RangePass | null): Promise<boolean> {
    const { streams, types, contents } = this.parts;
    await streams.load();
    await this.deep?.load();
    const tree = new TreeWalk(0, await this.checkpoints.sizes());
    this.state = this.startAt(0, tree);
    this.explainer = new Explainer(this.state, this.journal);
    if (ranges === null) await this.entries(-1);
    else if (!(await this.join(ranges))) return false;
    this.entriesRead = true;
    this.size = this.checked;
    this.checkEnd();
    await streams.compare((position) => this.state.wasMissed(position));
    if (!this.state.incomplete) types.compare(this.findings);
    await contents.compare(
      this.reader,
      (position) => this.locate(position),
      (done) => this.progress("contents", done, contents.count),
    );
    await this.compareTree(tree);
    await this.deep?.finish({
      size: this.state.next,
      id: (position) => this.idAt(position),
      locate: (position) => this.locate(position),
      again: (take, end) => this.again(take, end),
    });
    return true;
  }

  private async compareTree(tree: TreeWalk): Promise<void> {
    const { reader, findings, state } = this;
    const roots = new Roots([tree.part()]);
    this.roots = roots;
    const whole = roots.end > 0 && roots.end === state.next;
    // Where the entries are not in order, nodes that do not fit them say nothing more.
    const complete = whole && findings.ofCheck("bytes", "FAIL") + findings.ofCheck("chain", "FAIL") === 0;
    if (whole) this.root = roots.root();
    if (complete) this.nodes = await compareNodes(reader, roots.nodes, findings);
    await this.checkpoints.compare(this.read(complete, roots));
  }

  private read(complete: boolean, roots: Roots | null): JournalRead {
    const { next, previous } = this.state;
    return { epochs: this.journal.epochs, complete, size: next, head: next === 0 ? null : previous, roots };
  }

  /** The first entry, then the last ones; what lies between is taken for unread. */
  private async quick(): Promise<void> {
    const tail = Math.max(0, this.size - quickEntries);
    if (tail > 0) {
      await this.check(await this.reader.entries(null, 1));
      this.state = this.startAt(tail);
      this.explainer = new Explainer(this.state, this.journal);
    }
    await this.entries(tail - 1);
    this.checkEnd();
    await this.checkpoints.compareLast(this.read(false, null));
  }

  private join(ranges: RangePass): Promise<boolean> {
    return ranges.run({
      state: this.state,
      check: async (rows) => {
        await this.check(rows);
        this.progress("entries", this.checked, this.size);
      },
      onJoined: (entries) => {
        this.checked += entries;
        this.progress("entries", this.checked, this.size);
      },
    });
  }

  /** Judges what follows as if everything before were unread. */
  private startAt(first: number, tree: TreeWalk | null = null): PassState {
    return new PassState(this.parts, first, this.now(), tree);
  }

  private now(): number {
    return this.settings.now ?? Number.POSITIVE_INFINITY;
  }

  /** Checks the rows behind a position. */
  private async entries(from: number): Promise<void> {
    let limit = rowsPerRead;
    for (let after = from; ;) {
      const rows = await this.page(after, limit);
      if (rows === null) {
        limit = Math.ceil(limit / 4);
        continue;
      }
      await this.check(rows);
      this.progress("entries", this.checked, this.size);
      if (rows.length < limit) return;
      const last = this.state.next - 1;
      if (last <= after) {
        this.findings.add("E_TYPE", {
          where: `entries after #${after}`,
          message: "reading cannot go on: no row of the page has a later position",
        });
        return;
      }
      after = last;
    }
  }

  /** A page of rows; null where it cannot be read and a smaller one may get further. */
  private async page(after: number, limit: number): Promise<readonly RawEntry[] | null> {
    const { signal } = this.settings;
    if (signal?.aborted === true) throw stoppedBy(signal);
    try {
      const rows = await this.reader.entries(after < 0 ? null : after, limit, this.deep !== null);
      return this.deep === null ? rows : rows.map(withText);
    } catch (error) {
      if (isDamage(error) && limit > 1) return null;
      throw error;
    }
  }

  private async check(rows: readonly RawEntry[]): Promise<void> {
    const prover = new Prover(this.state);
    for (const row of rows) {
      const { next } = this.state;
      const proved = prover.prove(row);
      if (!proved) await this.explainer.explain(row);
      if (this.deep !== null) this.fold(this.deep, row, proved, next);
    }
    this.checked += rows.length;
    await this.deep?.turn();
  }

  /** Hands an entry that is right over to whoever folds. */
  private fold(deep: DeepCheck, row: RawEntry, proved: boolean, position: number): void {
    if (proved && deep.brokenAt === null) {
      const type = this.parts.types.numbered(row.type)!.name; // the cheap step has found it
      if (!deep.concerns(type, row.entry as string))
        return deep.claims.pass(row as ProvedRow, type, this.state.tx!.first);
    }
    if (!proved && this.findings.ofCheck("bytes", "FAIL") + this.findings.ofCheck("chain", "FAIL") > 0)
      deep.breakAt(position);
    const fields = deep.brokenAt === null ? fieldsOf(row) : null;
    if (fields !== null) deep.take(fields);
  }

  /** Reads the entries up to one once more. */
  private async again(take: (fields: EntryFields) => void, end: number): Promise<void> {
    for (let after = -1; ;) {
      const rows = (await this.reader.entries(after < 0 ? null : after, rowsPerRead)).map(withText);
      for (const row of rows) {
        const fields = row.seq === ++after && after < end ? fieldsOf(row) : null;
        if (fields === null) return;
        take(fields);
      }
      if (rows.length < rowsPerRead) return;
    }
  }

  private async idAt(position: number): Promise<string | null> {
    const [row] = await this.reader.entries(position === 0 ? null : position - 1, 1);
    return row?.seq === position && typeof row.id === "string" ? row.id : null;
  }

  private checkEnd(): void {
    const { tx, offset, next, ahead, now, rows } = this.state;
    const end = next - offset;
    if (tx !== null && rows > 0 && this.state.inTx(end)) {
      this.findings.add("E_TX_INCOMPLETE", {
        position: next - 1,
        message: `the tx from #${tx.first} must have ${tx.count} entries, found ${end - tx.first}`,
        want: tx.count,
        have: end - tx.first,
      });
    }
    if (this.settings.level === "quick" && next !== this.size) {
      this.findings.add("E_SEQ_GAP", {
        position: next - 1,
        message: `the last entry is #${next - 1} and there are ${this.size} entries`,
        want: this.size - 1,
        have: next - 1,
      });
    }
    if (ahead !== null)
      this.findings.add("W_CLOCK", {
        position: ahead.position,
        message: `the time is ${ahead.at - now} ms ahead of this host's clock`,
        want: now,
        have: ahead.at,
      });
  }

  /** Where an entry stands, for findings about what it names. */
  private async locate(position: number): Promise<Sight> {
    const [row] = await this.reader.entries(position === 0 ? null : position - 1, 1);
    const scanner = new EntryScanner();
    const text = row?.entry instanceof Uint8Array ? Buffer.from(row.entry).toString() : row?.entry;
    if (typeof text !== "string" || !scanner.scan(text)) return { position };
    return { position, stream: scanner.stream, revision: scanner.rev };
  }

  private progress(phase: VerifyProgress["phase"], done: number, total: number): void {
    this.settings.onProgress?.({ phase, done, total });
  }
}

function isDamage(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === "STORE_DAMAGED";
}
