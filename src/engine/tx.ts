/** One tx: what an append, a command or a list of commands writes, collected piece by piece and sealed at the end, when the
 *  number of its entries is known. Invariant: until it is sealed it leaves no mark in the batch: no area, content, time,
 *  document or stream head; one that is dropped was never there. */
import { invariant, limit } from "../kernel/errors.js";
import { entriesPerTxMax, entryBytesMax } from "../kernel/limits.js";
import type { ContentReference, ContentValue } from "../journal/content.js";
import { encodeEntry, entryId } from "../journal/entry.js";
import type { EntryTemplate } from "../journal/entry.js";
import type { AreaDefined } from "../journal/events/journal.js";
import type { ContentRow, EntryRow, StoredContent, StoredFacts, StreamHead } from "../journal/store.js";
import { projectionEvent } from "../../projections/event-of.js";
import type { EventData, ProjectionEvent } from "../../projections/event.js";
import type { TxDocuments } from "./documents.js";
import type { StagedContents } from "./staged-contents.js";
import { fillSegments, ownEvent } from "./prepare-event.js";
import type { PreparedEvent } from "./prepare-event.js";
import type { TimeState } from "./time.js";

/** What a tx needs of its batch. */
export interface TxGround {
  /** The position of its first entry. */
  readonly position: number;
  /** The id of the entry before that. */
  readonly headId: string;
  headOf(stream: string): StreamHead | null;
  /** What must be recorded of an area before an event of this type is written; null: nothing. */
  toRecord(stream: string, type: string): AreaDefined | null;
  nextTime(): TimeState;
  concerns(type: string): boolean;
  openDocuments(): TxDocuments;
  seal(sealed: SealedTx): void;
}

/** What a sealed tx hands to its batch. */
export interface SealedTx {
  readonly rows: readonly EntryRow[];
  readonly contents: readonly ContentRow[];
  readonly recorded: readonly AreaDefined[];
  readonly time: TimeState;
}

/** What a sealed tx wrote, as its caller is told. */
export interface Written {
  readonly rows: readonly EntryRow[];
  /** Those of them that the caller asked for. */
  readonly asked: readonly EntryRow[];
  /** The revision of a stream behind it. */
  readonly revisionOf: (stream: string) => number;
}

interface Draft {
  readonly seq: number;
  readonly rev: number;
  readonly before: number | null;
  readonly stream: string;
  readonly type: string;
  readonly template: EntryTemplate;
  readonly data: string;
  /** How messages name it. */
  readonly path: string;
  readonly asked: boolean;
}

export class Tx {
  private readonly ground: TxGround;
  private readonly drafts: Draft[] = [];
  private readonly heads = new Map<string, StreamHead>();
  private readonly contents: StagedContents;
  private readonly recorded: AreaDefined[] = [];
  private references: Map<ContentValue, ContentReference> | null = null;
  private time: TimeState | null = null;
  private opened: TxDocuments | null = null;

  constructor(ground: TxGround, contents: StagedContents) {
    this.ground = ground;
    this.contents = contents;
  }

  /** Engine time of all its events: taken once, when it is first asked for. */
  get at(): number {
    return this.taken().at;
  }

  /** The number of its entries so far. */
  get count(): number {
    return this.drafts.length;
  }

  /** The documents as this tx leaves them so far. */
  get documents(): TxDocuments {
    return (this.opened ??= this.ground.openDocuments());
  }

  /** The head of a stream as this tx leaves it so far. */
  headOf(stream: string): StreamHead | null {
    return this.heads.get(stream) ?? this.ground.headOf(stream);
  }

  /** The facts of a content of the journal or of this batch; null when there is none. What is stored must be known. */
  content(n: number): StoredFacts | null {
    return this.contents.find(n);
  }

  /** The same with its bytes. */
  wholeContent(n: number): Promise<StoredContent | null> {
    return this.contents.whole(n);
  }

  /** The reference to a content that one of its events names; undefined when none does. */
  referenceTo(content: ContentValue): ContentReference | undefined {
    return this.references?.get(content);
  }

  /** Adds events that its caller asked for; what must be said of their areas comes first. What it throws refuses them; what
   *  it rejects with is a failure of the store. Undefined when nothing has to be waited for. */
  add(events: readonly PreparedEvent[]): Promise<void> | undefined {
    const recording = this.areasToRecord(events);
    this.checkCount((recording?.length ?? 0) + events.length);
    const folded: ProjectionEvent[] = [];
    for (const area of recording ?? []) {
      this.recorded.push(area);
      this.place(ownEvent("area.defined", area, {}), false, folded);
    }
    for (const event of events) this.place(event, true, folded);
    return folded.length === 0 ? undefined : this.documents.fold(folded);
  }

  /** Adds events of the engine's own. */
  record(events: readonly PreparedEvent[]): Promise<void> | undefined {
    const folded: ProjectionEvent[] = [];
    this.checkCount(events.length);
    for (const event of events) this.place(event, false, folded);
    return folded.length === 0 ? undefined : this.documents.fold(folded);
  }

  /** Makes it part of the batch. Nothing is added afterwards. */
  seal(): Written {
    const time = this.taken();
    const rows: EntryRow[] = [];
    let prev = this.ground.headId;
    const [first] = this.drafts;
    invariant(first !== undefined, "a tx has an event");
    for (const { seq, rev, before, stream, type, template, data, path } of this.drafts) {
      const place = { seq, prev, txFirst: first.seq, txCount: this.drafts.length, rev, at: time.at };
      const entry = encodeEntry(template, data, place);
      if (entry.length * 3 > entryBytesMax) checkEntrySize(entry, path);
      const id = entryId(entry);
      rows.push({ seq, id, stream, rev, before, type, at: time.at, skew: time.at - time.clock, entry });
      prev = id;
    }
    this.ground.seal({ rows, contents: this.contents.rows, recorded: this.recorded, time });
    this.opened?.keep();
    return {
      rows,
      asked: rows.filter((_, index) => this.drafts[index]!.asked),
      revisionOf: (stream) => this.headOf(stream)?.rev ?? 0,
    };
  }

  private checkCount(more: number): void {
    const count = this.drafts.length + more;
    if (count > entriesPerTxMax) throw limit("tx", "events", entriesPerTxMax, count);
  }

  private taken(): TimeState {
    return (this.time ??= this.ground.nextTime());
  }

  private place(event: PreparedEvent, asked: boolean, folded: ProjectionEvent[]): void {
    const { stream, type, template, path } = event;
    const references = this.contents.place(event);
    if (references.length > 0) this.note(event, references);
    const data = fillSegments(event.segments, references);
    const head = this.headOf(stream);
    const seq = this.ground.position + this.drafts.length;
    const rev = (head?.rev ?? 0) + 1;
    this.drafts.push({ seq, rev, before: head?.seq ?? null, stream, type, template, data, path, asked });
    this.heads.set(stream, { rev, seq });
    if (!this.ground.concerns(type)) return;
    // Its data is read from the text that is stored, so that a replay sees the same.
    const facts = JSON.parse(data) as EventData;
    folded.push(projectionEvent({ seq, stream, rev, type, at: this.at }, event.labels, facts, event.version));
  }

  private note({ contents }: PreparedEvent, references: readonly ContentReference[]): void {
    const noted = (this.references ??= new Map());
    contents.forEach(({ value }, index) => noted.set(value, references[index]!));
  }

  /** Undefined: none, as a rule. */
  private areasToRecord(events: readonly PreparedEvent[]): readonly AreaDefined[] | undefined {
    let recording: Map<string, AreaDefined> | undefined;
    let last: PreparedEvent | undefined;
    for (const event of events) {
      if (event.type === last?.type && event.stream === last.stream) continue;
      last = event;
      const area = this.ground.toRecord(event.stream, event.type);
      if (area === null || this.recorded.some((each) => each.area === area.area)) continue;
      recording ??= new Map();
      recording.set(area.area, area);
    }
    return recording === undefined ? undefined : [...recording.values()];
  }
}

function checkEntrySize(entry: string, path: string): void {
  const bytes = Buffer.byteLength(entry);
  if (bytes > entryBytesMax)
    throw limit(path, "bytes as an entry (mark large values with content())", entryBytesMax, bytes);
}
