/** Definitions: what runs follow, one document for each that was registered. Source: decision 0026; row U-05. */
import type { ContentReference } from "../src/journal/content.js";
import { definitionKind, digestOfStream } from "../src/journal/events/definition.js";
import type { DefinitionRegistered } from "../src/journal/events/definition.js";
import { defineProjection } from "./define-projection.js";
import type { Projection } from "./define-projection.js";

/** A definition. @public */
export interface Definition {
  /** SHA-256 of the canonical JSON of the snapshot, 64 hex digits. */
  digest: string;
  name: string;
  snapshot: ContentReference;
  /** Engine time, ms since the epoch. */
  createdAt: number;
}

/** The definitions by their digests. @public */
export const definitions: Projection<Definition> = defineProjection<
  Definition,
  { "definition.registered": DefinitionRegistered }
>()({
  name: definitionKind,
  version: 1,
  indexes: {
    created: ({ createdAt }) => [createdAt],
  },
  on: {
    "definition.registered": {
      key: ({ stream }) => digestOfStream(stream),
      apply: (_, { data: { name, digest, snapshot }, at }) => ({ digest, name, snapshot, createdAt: at }),
    },
  },
});
