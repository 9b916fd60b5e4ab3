/** The patches driver: what an event changed in a document, as immer saw it being changed, forward and back.
 *  Invariants: the patches lead from the one document to the other, and the inverse ones back; where immer's do not, one that
 *  replaces all of it stands in their place. Paths are data: no member that is not the value's own is reached through one.
 *  Source: decision 0018. */
import { Immer, enablePatches } from "immer";
import type { Patch as ImmerPatch } from "immer";
import { canonicalText } from "../src/kernel/canonical.js";
import { invalid, LedgerError } from "../src/kernel/errors.js";
import type { Projection } from "./define-projection.js";
import { settle } from "./document.js";
import type { ProjectionEvent } from "./event.js";
import { changeBox, failed, settleLeft } from "./reducer.js";

/** One change of a document, with the meaning that RFC 6902 gives it: at the path, which goes from the document down, a value
 *  is added, replaced or removed. The empty path is the document itself. @public */
export type DocumentPatch =
  | { readonly op: "add" | "replace"; readonly path: readonly (string | number)[]; readonly value: unknown }
  | { readonly op: "remove"; readonly path: readonly (string | number)[] };

/** What an event did to a document. */
export interface PatchedDocument<Document extends object> {
  readonly document: Document | null;
  /** Lead from the document before to this one. Empty when nothing changed. */
  readonly patches: readonly DocumentPatch[];
  /** Lead back, in this order. */
  readonly inverse: readonly DocumentPatch[];
}

const immer = new Immer({ autoFreeze: false });
enablePatches();

/** As `foldLive`, and says what changed. */
export function foldPatches<Document extends object>(
  projection: Projection<Document>,
  event: ProjectionEvent,
  key: string,
  document: Document | null,
): PatchedDocument<Document> {
  try {
    const [box, patches, inverse] = immer.produceWithPatches({ document }, changeBox(projection, event));
    const after = settleLeft(projection, box.document, document);
    if (after === document) return { document, patches: [], inverse: [] };
    return { document: after, patches: retell(document, patches, after), inverse: retell(after, inverse, document) };
  } catch (cause) {
    throw failed(projection, event, key, cause);
  }
}

/** The document that patches lead to, frozen; null: none. `INVALID_ARGUMENT`: a path leads nowhere, or what comes out is no
 *  document. @public */
export function applyPatches<Document extends object>(
  document: Document | null,
  patches: readonly DocumentPatch[],
): Document | null {
  let state: unknown = document;
  for (const patch of patches) state = changed(state, patch, 0);
  return state === null ? null : (settle(state, document) as Document); // what its reducer made is what the patches say
}

/** Immer's patches as RFC 6902 has them, and without members that are `undefined`, which documents do not have. */
function retell(from: object | null, patches: readonly ImmerPatch[], to: object | null): readonly DocumentPatch[] {
  const told: DocumentPatch[] = [];
  let state: unknown = from;
  try {
    for (const { path, op, value } of patches) {
      const patch = patchOf(state, path.slice(1), op, value); // without the box
      if (patch === null) continue;
      state = changed(state, patch, 0);
      told.push(patch);
    }
    // Something changed: where nothing is left to tell, it is the order of members, which canonical text does not show.
    if (told.length > 0 && canonicalText(state) === canonicalText(to)) return told;
  } catch (refusal) {
    if (!(refusal instanceof LedgerError)) throw refusal;
  }
  if (to === null) return [{ op: "remove", path: [] }];
  return [{ op: from === null ? "add" : "replace", path: [], value: to }];
}

/** Null: there is nothing to say. */
function patchOf(
  state: unknown,
  path: readonly (string | number)[],
  op: ImmerPatch["op"],
  value: unknown,
): DocumentPatch | null {
  const present = isPresent(state, path);
  if (op === "remove" || value === undefined || (path.length === 0 && value === null))
    return present ? { op: "remove", path } : null;
  // Immer adds to lists at their ends alone: what is there already is replaced. Were it otherwise, the try would tell.
  return { op: present ? "replace" : "add", path, value: settleValue(value) };
}

function settleValue(value: unknown): unknown {
  return Object.values(settle({ value }, null))[0];
}

function isPresent(state: unknown, path: readonly (string | number)[]): boolean {
  let value = state;
  for (const name of path) {
    if (!isContainer(value) || !Object.hasOwn(value, name)) return false;
    value = value[name];
  }
  return value !== null || path.length > 0;
}

/** The value with a patch applied from `level` of its path on; what is not on the path is shared. */
function changed(value: unknown, patch: DocumentPatch, level: number): unknown {
  const name = patch.path[level];
  if (name === undefined) return patch.op === "remove" ? null : patch.value;
  const last = level === patch.path.length - 1;
  const adds = last && patch.op === "add";
  if (!isContainer(value) || name === "__proto__" || (!adds && !Object.hasOwn(value, name))) throw nowhere(patch);
  if (Array.isArray(value)) {
    const index = typeof name === "number" ? name : -1;
    if (!Number.isInteger(index) || index < 0 || index > value.length) throw nowhere(patch);
    if (!last) return value.with(index, changed(value[index], patch, level + 1));
    return value.toSpliced(index, adds ? 0 : 1, ...(patch.op === "remove" ? [] : [patch.value]));
  }
  const copy: Record<string, unknown> = { ...value };
  if (last && patch.op === "remove") delete copy[name];
  else copy[name] = changed(copy[name], patch, level + 1);
  return copy;
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

function nowhere({ op, path }: DocumentPatch): LedgerError {
  return invalid(
    "path of a patch",
    `one that leads to a place in the document where ${op} has a meaning`,
    path.join("/"),
  );
}
