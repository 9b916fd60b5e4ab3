/** Checkpoints, given from outside and stored beside the entries, held against the journal that was read.
 *  Invariants: only a checkpoint that was given anchors; a signature is believed under a key that the caller gave, and
 *  under no other. The keys that the journal names say who must have signed, and refuse what they did not sign. Memory
 *  grows with the number of stored checkpoints by 48 bytes each. Source: decision 0013. */
import { incarnationOf } from "../journal/checkpoint.js";
import type { Epochs } from "../journal/epochs.js";
import { emptyRoot } from "../journal/merkle.js";
import { parseVerifierKey } from "../journal/note-keys.js";
import type { VerifierKey } from "../journal/note-keys.js";
import type { RawCheckpoint, RawReader } from "../journal/raw-reader.js";
import { LedgerError } from "../kernel/errors.js";
import { counted } from "./figures.js";
import type { FindingCode, Findings, Sight } from "./findings.js";
import { checkpointRows, namesOf, signersOf, storedCheckpoints, tryCheckpoint } from "./noted-checkpoint.js";
import type { NotedCheckpoint } from "./noted-checkpoint.js";
import type { Roots } from "./tree.js";

/** The journal that checkpoints are held against. */
export interface JournalRead {
  /** What it says of its origin, incarnations and keys; null when its first entry cannot be read. */
  readonly epochs: Epochs | null;
  /** Were all entries read, so that nothing is missing in the epochs? */
  readonly complete: boolean;
  /** One more than its last position. */
  readonly size: number;
  /** The id of its last entry. */
  readonly head: string | null;
  /** Null when the tree was not computed. */
  readonly roots: Roots | null;
}

/** The largest checkpoint from outside that the journal fits. */
interface Anchor {
  readonly size: number;
  /** The time of the last entry that it covers. */
  readonly at: number;
  /** `verified`: under a key that was given; `unchecked`: there was no key; `none`: it has no signature. */
  readonly signatures: "verified" | "unchecked" | "none";
}

/** Adds a finding about one checkpoint. */
type Report = (code: FindingCode, sight: Sight) => void;

export class Checkpoints {
  private readonly reader: RawReader;
  private readonly findings: Findings;
  private readonly keys: readonly VerifierKey[];
  /** Those given, in the order of their sizes. */
  private readonly fromOutside: readonly NotedCheckpoint[];
  private journalKeys: readonly VerifierKey[] = [];
  /** How many were given and are stored. */
  readonly given: number;
  stored = 0;
  /** How many were compared with the root of their size, whatever came of it. */
  compared = 0;
  anchor: Anchor | null = null;
  /** The largest size that a checkpoint covers which fits and is signed under a key that was given, and who signed it. */
  signed: { readonly size: number; readonly by: string } | null = null;
  private verified = false;
  /** The largest size so far at which the journal is shown to be as it was. */
  private vouched = 0;
  /** What later stored checkpoints say again: the first that says it, and how many more. */
  private readonly repeated = new Map<FindingCode, { readonly sight: Sight; more: number }>();
  /** The size of the stored checkpoint before this one. */
  private storedBefore = 0;

  constructor(reader: RawReader, findings: Findings, from: readonly string[], keys: readonly VerifierKey[]) {
    this.reader = reader;
    this.findings = findings;
    this.keys = keys;
    this.given = from.length;
    const read: NotedCheckpoint[] = [];
    for (const [index, note] of from.entries()) {
      const where = from.length === 1 ? "given checkpoint" : `given checkpoint ${index + 1}`;
      const checkpoint = tryCheckpoint(note);
      if (checkpoint instanceof LedgerError) findings.add("E_CHECKPOINT", { where, message: checkpoint.message });
      else read.push(checkpoint);
    }
    this.fromOutside = read.sort((left, right) => left.size - right.size);
  }

  /** The sizes whose roots it will ask for, ascending. */
  async sizes(): Promise<Float64Array> {
    const sizes = new Set(this.fromOutside.map(({ size }) => size));
    for await (const { size } of storedCheckpoints(this.reader)) sizes.add(size);
    return Float64Array.from(sizes).sort();
  }

  /** Holds all of them against the journal. */
  async compare(journal: JournalRead): Promise<void> {
    this.journalKeys = keysOf(journal.epochs);
    const open = [...this.fromOutside];
    for await (const row of checkpointRows(this.reader)) {
      this.stored++;
      const checkpoint = this.take(row);
      if (checkpoint === null) continue;
      while (open[0] !== undefined && open[0].size <= checkpoint.size) this.judge(open.shift()!, true, journal);
      this.judge(checkpoint, false, journal);
      this.storedBefore = checkpoint.size;
    }
    for (const checkpoint of open) this.judge(checkpoint, true, journal);
    this.end();
  }

  /** Holds those given and the last one stored against a journal of which only the ends were read. */
  async compareLast(journal: JournalRead): Promise<void> {
    this.journalKeys = keysOf(journal.epochs);
    for (const checkpoint of this.fromOutside) this.judge(checkpoint, true, journal);
    let last: RawCheckpoint | null = null;
    for await (const row of checkpointRows(this.reader)) {
      this.stored++;
      last = row;
    }
    const checkpoint = last === null ? null : this.take(last);
    if (checkpoint !== null) this.judge(checkpoint, false, journal);
    this.end();
  }

  /** Reads a stored row; null when it is none. */
  private take({ size, note }: RawCheckpoint): NotedCheckpoint | null {
    const where = `checkpoints ${String(size)}`;
    if (typeof note !== "string") {
      this.findings.add("E_TYPE", { where, message: "note must be text", have: note });
      return null;
    }
    const checkpoint = tryCheckpoint(note);
    if (checkpoint instanceof LedgerError) {
      this.findings.add("E_CHECKPOINT", { where, message: checkpoint.message });
      return null;
    }
    if (size !== checkpoint.size)
      this.findings.add("E_COLUMN", {
        where,
        message: "the column size differs from the checkpoint",
        want: checkpoint.size,
        have: size,
      });
    return checkpoint;
  }

  /** Everything that is checked of one checkpoint. What comes later says nothing where what comes before is wrong. */
  private judge(checkpoint: NotedCheckpoint, given: boolean, journal: JournalRead): void {
    const { size, root } = checkpoint;
    const where = `${given ? "given" : "stored"} checkpoint of ${size}`;
    const report: Report = (code, sight) => this.findings.add(code, { where, ...sight });
    const reportOnce: Report = (code, sight) => (given ? report(code, sight) : this.repeat(code, { where, ...sight }));
    if (!isOfJournal(checkpoint, journal, report)) return;
    const { signers, wrong } = signersOf(checkpoint, given ? this.keys : [...this.keys, ...this.journalKeys]);
    if (wrong !== null)
      return report("E_CHECKPOINT_SIG", { message: `the signature of ${wrong.name}+${wrong.id} is not of this text` });
    const known = signers.filter((key) => this.keys.includes(key));
    if (known.length > 0) this.verified = true;
    else if (given && this.keys.length > 0)
      report("W_CHECKPOINT_UNSIGNED", { want: namesOf(this.keys), have: namesOf(checkpoint.signatures) });

    if (size > journal.size) {
      return reportOnce("E_SHORTER_THAN_CHECKPOINT", {
        message: `the journal ${journal.size === 0 ? "has no entries" : `ends with #${journal.size - 1}`}, the checkpoint covers #0 to #${size - 1}`,
        want: `${counted(size, "entry", "entries")}, root ${root}`,
        have: `${counted(journal.size, "entry", "entries")}, head ${journal.head ?? "unknown"}`,
      });
    }
    const found = size === 0 ? { root: emptyRoot, at: 0 } : (journal.roots?.rootAt(size) ?? null);
    if (found === null) return;
    this.compared++;
    if (found.root !== root) {
      const message = `the first ${counted(size, "entry", "entries")} have another root: what differs is in #${this.vouched} to #${size - 1}; the head is #${journal.size - 1} ${journal.head ?? ""}`;
      return reportOnce(given ? "E_INCONSISTENT" : "E_ROOT", { message, want: root, have: found.root });
    }
    const believed = given ? this.keys.length === 0 || known.length > 0 : known.length > 0;
    if (believed) this.vouched = size;
    if (journal.complete && !this.isOfItsKeys(checkpoint, given, journal.epochs, report)) return;
    if (known.length > 0 && size > (this.signed?.size ?? 0)) this.signed = { size, by: namesOf(known) };
    if (given && believed && size > (this.anchor?.size ?? 0)) {
      const signatures = known.length > 0 ? "verified" : checkpoint.signatures.length > 0 ? "unchecked" : "none";
      this.anchor = { size, at: found.at, signatures };
    }
  }

  /** Do those whose keys must have signed have a line in it? Their signatures were verified before. */
  private isOfItsKeys(
    { size, signatures }: NotedCheckpoint,
    given: boolean,
    epochs: Epochs | null,
    report: Report,
  ): boolean {
    // The three lines alone, kept elsewhere, are worth as much as the place where they were kept.
    if (epochs === null || size === 0 || (given && signatures.length === 0)) return true;
    const lacks = (key: string | null): key is string =>
      key !== null && !signatures.some(({ name, id }) => key.startsWith(`${name}+${id}+`));
    const found = namesOf(signatures);
    const { key, since } = epochs.keyOf(size);
    const position = since === 0 ? null : since;
    if (lacks(key)) {
      const message = `it must be signed by the key that #${since} names`;
      report("E_KEY_EPOCH", { position, message, want: shortKey(key), have: found });
      return false;
    }
    if (given) return true;
    for (const change of epochs.keyEpochs) {
      if (change.since < Math.max(this.storedBefore, 1) || change.since >= size || !lacks(change.previous)) continue;
      const message = `it is the first one behind the change of keys at #${change.since}: the key before must sign it too`;
      report("E_KEY_EPOCH", { position: change.since, message, want: shortKey(change.previous), have: found });
      return false;
    }
    return true;
  }

  /** One change of an entry is seen by every later checkpoint, of which there may be thousands. */
  private repeat(code: FindingCode, sight: Sight): void {
    const known = this.repeated.get(code);
    if (known === undefined) this.repeated.set(code, { sight, more: 0 });
    else known.more++;
  }

  private end(): void {
    for (const [code, { sight, more }] of this.repeated) {
      const message = `${sight.message ?? ""}${more === 0 ? "" : `; so ${counted(more, "later one")}`}`;
      this.findings.add(code, { ...sight, message });
    }
    if (this.keys.length > 0 && !this.verified) this.findings.add("W_CHECKPOINT_MISSING", { want: namesOf(this.keys) });
  }
}

/** Is it a checkpoint of this journal, and of the incarnation that the journal had at its size? */
function isOfJournal({ origin, size }: NotedCheckpoint, journal: JournalRead, report: Report): boolean {
  const { epochs, complete } = journal;
  if (epochs === null) return true;
  const incarnation = incarnationOf(origin, epochs.origin);
  // Behind the end, and where entries are not in order, nobody knows what came.
  const line = complete && size > 0 && size <= journal.size ? epochs.lineOf(size) : null;
  if (incarnation !== null && (line === null || line === origin)) return true;
  const message =
    incarnation === null
      ? "the checkpoint is of another journal"
      : `the checkpoint is of another incarnation than the journal had at ${counted(size, "entry", "entries")}`;
  report("E_CHECKPOINT_ORIGIN", { message, want: line ?? epochs.origin, have: origin });
  return false;
}

function keysOf(epochs: Epochs | null): VerifierKey[] {
  const keys = new Set(epochs?.keyEpochs.map(({ key }) => key).filter((key) => key !== null));
  return [...keys].map((key) => parseVerifierKey(key, "key"));
}

/** A verifier key by its name and id; its base64 may have a + too. */
function shortKey(key: string): string {
  return key.split("+", 2).join("+");
}
