/** A document that a reducer changes in place, in bulk: what it was is written down before, and compared with what became of
 *  it. The checks of `settle`, without drafts, copies or freezing, at the price of two walks over a small document.
 *  Invariants: a container is in one document, once, and was made here: what a reducer hangs in (a part of the event, a
 *  constant of the host, the same thing twice) is copied when it is first seen. What could not be settled leaves the document
 *  as it was. What no JSON shows (members named by symbols, computed, or beside the elements of a list) is looked for where a
 *  container is first seen, and not again.
 *  Source: decision 0018. */
import { depthMax } from "../src/kernel/limits.js";
import { checkRoot, isContainer, isExact, isPlain, isSame, refusalOf } from "./document.js";

type Members = Record<string, unknown>;

/** So many are searched one by one. */
const fewContainers = 32;

const nowhere = -1;

/** Nothing stood there. */
const absent: unique symbol = Symbol("absent");

/** Watches one document at a time. */
export class WorkingDocument {
  /** The containers, as a walk meets them, and where their members begin in `names` and `values`. The lists are used again
   *  for each event. */
  private readonly containers: object[] = [];
  private readonly starts: number[] = [0];
  private readonly names: string[] = [];
  private readonly values: unknown[] = [];
  private count = 0;
  /** How many of `containers` are of this document; what stands behind them is of one before. */
  private containersCount = 0;
  /** The next container that was not met yet. */
  private next = 0;
  private places: Map<object, number> | null = null;
  /** A leaf is another, or something came or went. */
  private differs = false;
  /** A container came in, or stands elsewhere: only a look at all of it tells whether that makes a difference. */
  private moved = false;

  /** Writes down what a document is, which may be changed then; when it is frozen, a copy of it. Answers which to change. */
  watch(document: object | null): object | undefined {
    this.containersCount = 0;
    this.count = 0;
    this.next = 0;
    this.places = null;
    this.differs = false;
    this.moved = false;
    if (document === null) return undefined;
    const own = Object.isFrozen(document) ? copyOf(document) : document;
    this.writeDown(own as Members);
    return own;
  }

  /** What became of it, settled. */
  settle(after: unknown): object {
    checkRoot(after, "document");
    const settled = this.look(after, this.containersCount === 0 ? null : this.containers[0], 0);
    if (settled === null) throw refusalOf(after, "document");
    if (!this.differs && (this.moved || this.containersCount === 0)) this.differs = !isSame(settled, this.before());
    return settled;
  }

  /** Does what was settled say something else than what was written down? */
  get changed(): boolean {
    return this.differs;
  }

  /** What was written down, made anew. */
  before(): object | null {
    return this.containersCount === 0 ? null : this.remake(0);
  }

  private writeDown(container: Members): void {
    const start = this.count;
    this.containers[this.containersCount++] = container;
    if (Array.isArray(container)) for (const member of container) this.values[this.count++] = member;
    else
      for (const name in container) {
        this.names[this.count] = name;
        this.values[this.count++] = container[name];
      }
    const end = this.count;
    this.starts[this.containersCount] = end;
    for (let at = start; at < end; at++) {
      const member = this.values[at];
      if (typeof member === "object" && member !== null) this.writeDown(member as Members);
    }
  }

  /** Null: something in it is not JSON. `old` stood there before. */
  private look(value: object, old: unknown, level: number): object | null {
    if (level >= depthMax) return null;
    const place = this.meet(value);
    const isArray = Array.isArray(value);
    if (place >= 0) {
      if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return null;
      if (value !== old) this.moved = true;
      const like = value === old ? place : nowhere;
      return isArray ? this.lookIntoArray(value, level, like) : this.lookInto(value as Members, level, like);
    }
    this.moved = true;
    if (!isPlain(value)) return null;
    const like = isContainer(old) && Array.isArray(old) === isArray ? this.placeOf(old, 0) : nowhere;
    return isArray ? this.lookIntoArray(value.slice(), level, like) : this.lookInto({ ...value }, level, like);
  }

  /** `like`: the place of what stood there before, to be compared with. */
  private lookInto(value: Members, level: number, like: number): object | null {
    const end = like < 0 ? 0 : this.startOf(like + 1);
    let at = like < 0 ? 0 : this.startOf(like);
    let dropped = false;
    for (const name in value) {
      const member = value[name];
      if (member === undefined) {
        dropped = true;
        continue;
      }
      const old = at < end && this.names[at] === name ? this.values[at] : absent;
      at += 1;
      if (member === old && typeof member !== "object" && member !== 0) continue; // most of them, most of the time
      const kept = this.lookAt(member, old, level, like);
      if (kept === undefined) return null;
      if (kept !== member || kept === 0) value[name] = kept; // a zero may have had a sign
    }
    if (like >= 0 && at !== end) this.differs = true;
    return dropped ? withoutUndefined(value) : value;
  }

  private lookIntoArray(value: unknown[], level: number, like: number): object | null {
    const end = like < 0 ? 0 : this.startOf(like + 1);
    let at = like < 0 ? 0 : this.startOf(like);
    for (let index = 0; index < value.length; index++) {
      const member = value[index];
      const old = at < end ? this.values[at] : absent;
      at += 1;
      if (member === old && typeof member !== "object" && member !== 0) continue;
      const kept = this.lookAt(member, old, level, like);
      if (kept === undefined) return null;
      if (kept !== member || kept === 0) value[index] = kept;
    }
    if (like >= 0 && at !== end) this.differs = true;
    return value;
  }

  /** A member, as it is kept; undefined: it is not JSON. */
  private lookAt(member: unknown, old: unknown, level: number, like: number): unknown {
    if (isContainer(member)) {
      if (like >= 0 && !isContainer(old)) this.differs = true;
      return this.look(member, old, level + 1) ?? undefined;
    }
    if (member === old) return member === 0 ? 0 : member;
    if (like >= 0) this.differs = true;
    switch (typeof member) {
      case "string":
        return member.isWellFormed() ? member : undefined;
      case "number":
        return isExact(member) ? member + 0 : undefined;
      case "boolean":
        return member;
      default:
        return member === null ? null : undefined;
    }
  }

  /** The place of a container that was written down and is met for the first time; −1 (`nowhere`) for any other, and for one behind which
   *  others were met: that is copied once more, which does no harm. */
  private meet(value: object): number {
    if (this.next < this.containersCount && value === this.containers[this.next]) return this.next++;
    const place = this.placeOf(value, this.next);
    if (place >= 0) this.next = place + 1;
    return place;
  }

  /** Where a container was written down, from a place on; −1: nowhere. */
  private placeOf(value: object, from: number): number {
    if (this.containersCount <= fewContainers) {
      for (let place = from; place < this.containersCount; place++) if (this.containers[place] === value) return place;
      return nowhere;
    }
    this.places ??= new Map(this.containers.slice(0, this.containersCount).map((each, place) => [each, place]));
    const place = this.places.get(value) ?? -1;
    return place < from ? nowhere : place;
  }

  private startOf(place: number): number {
    return this.starts[place] ?? this.count;
  }

  private remake(place: number): object {
    const container = this.containers[place];
    const made: Members = Array.isArray(container) ? ([] as never) : {};
    const start = this.startOf(place);
    for (let at = start; at < this.startOf(place + 1); at++) {
      const member = this.values[at];
      const name = Array.isArray(container) ? at - start : (this.names[at] ?? "");
      made[name] = typeof member === "object" && member !== null ? this.remake(this.placeOf(member, 0)) : member;
    }
    return made;
  }
}

function withoutUndefined(value: Members): Members {
  const copy: Members = {};
  for (const name in value) if (value[name] !== undefined) copy[name] = value[name];
  return copy;
}

function copyOf(container: object): object {
  const copy: Members = Array.isArray(container) ? (container.slice() as never) : { ...container };
  for (const name in copy) {
    const member = copy[name];
    if (typeof member === "object" && member !== null) copy[name] = copyOf(member);
  }
  return copy;
}
