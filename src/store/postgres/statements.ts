/** All SQL of this adapter that touches the rows of a journal, with the reason for each; that on documents is in documents.ts.
 *  Invariants: lists come and go as arrays, so that a statement is one round trip however many rows it is about; nothing
 *  scans but what says so; what is read under the lock is read by statements behind the one that took it. */
import type { Statement } from "./ask.js";
import { qualified } from "./schema.js";

interface Query {
  readonly sql: string;
  /** What it is for, and why it is cheap. */
  readonly why: string;
}

/** The SQLSTATEs of the guard when what was assumed is not so, and when a stream is there that was not: there is no logarithm of
 *  nothing, and no root of what is less. */
export const guardStates = { moved: "2201E", streams: "2201F" } as const;

const entryColumns = "seq, encode(id, 'hex'), entry";
const contentColumns = "n, encode(digest, 'hex'), media, salt, encode(plain, 'hex'), erased, bytes";
/** The size of a value that is kept apart is known without it. */
const factColumns = "n, encode(digest, 'hex'), media, salt, encode(plain, 'hex'), erased, octet_length(bytes)";
const consumerColumns = "name, position, coalesce(encode(id, 'hex'), ''), incarnation, generation, claim";
const projectionColumns = "id, name, version, indexes, status, position, coalesce(encode(entry_id, 'hex'), ''), error";

/** `$s` stands for the schema. */
const queries: Readonly<Record<StatementName, Query>> = {
  lock: { sql: "SELECT one FROM $s.head WHERE one = 1 FOR UPDATE", why: "the write lock: one row, by key" },
  ground: {
    sql: `SELECT e.seq, encode(e.id, 'hex'), e.at, e.skew, (SELECT max(n) FROM $s.contents), floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, (SELECT array_agg(id || ':' || json_array_length(indexes::json)) FROM $s.projections), (SELECT coalesce(max(id), 0) FROM $s.streams), (SELECT encode(id, 'hex') FROM $s.entries WHERE seq = 0), (SELECT value FROM $s.meta WHERE key = 'turn'), f.one, f.position, encode(f.entry_id, 'hex'), f.tables FROM (SELECT max(seq) AS last FROM $s.entries) m LEFT JOIN $s.entries e ON e.seq = m.last LEFT JOIN $s.folded f ON f.one = 1`,
    why: "what everything starts from, in one answer: the head, the time, which tables of documents there are and up to where they are folded, the last stream, whose journal it is; each max() is one descent",
  },
  guard: {
    sql: `SELECT ln((CASE WHEN (SELECT max(seq) FROM $s.entries) = $1 AND (SELECT id FROM $s.entries WHERE seq = $1) = decode($2, 'hex') AND (SELECT string_agg(id || ':' || json_array_length(indexes::json), ',' ORDER BY id) FROM $s.projections) IS NOT DISTINCT FROM $3 AND (SELECT concat_ws(':', position, encode(entry_id, 'hex'), tables) FROM $s.folded WHERE one = 1) IS NOT DISTINCT FROM $4 AND (SELECT value FROM $s.meta WHERE key = 'turn') IS NOT DISTINCT FROM $5 THEN 1 ELSE 0 END)::float8), floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, sqrt((CASE WHEN EXISTS (SELECT FROM $s.streams WHERE name = ANY ($6::text[])) THEN -1 ELSE 1 END)::float8)`,
    why: "what a transaction was begun on is still so, and the streams that it took for new are: where not, it fails, and nothing behind it is done",
  },
  takeTurn: {
    sql: "INSERT INTO $s.meta (key, value) VALUES ('turn', pg_current_xact_id()::text) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    why: "by key, once a commit that gave no answer",
  },
  streams: {
    sql: "SELECT name, id, rev, last_seq FROM $s.streams WHERE name = ANY ($1::text[])",
    why: "by the unique index",
  },
  streamsAside: {
    sql: "SELECT (SELECT max(seq) FROM $s.entries), name, id, rev, last_seq FROM (SELECT) one LEFT JOIN $s.streams ON name = ANY ($1::text[])",
    why: "the same, with the head that it is as of",
  },
  entries: {
    sql: `SELECT ${entryColumns} FROM $s.entries WHERE seq >= $1 ORDER BY seq LIMIT $2`,
    why: "a range of the key",
  },
  entriesReverse: {
    sql: `SELECT ${entryColumns} FROM $s.entries WHERE seq <= $1 ORDER BY seq DESC LIMIT $2`,
    why: "a range of the key",
  },
  entriesAt: { sql: `SELECT ${entryColumns} FROM $s.entries WHERE seq = ANY ($1::bigint[])`, why: "by key" },
  ids: {
    sql: "SELECT encode(id, 'hex') FROM $s.entries WHERE seq >= $1 ORDER BY seq LIMIT $2",
    why: "a range of the key, without the texts",
  },
  streamPages: {
    sql: "SELECT seqs FROM $s.stream_pages WHERE stream = $1 AND page >= $2 AND page <= $3 ORDER BY page",
    why: "a range of the primary key",
  },
  walkBack: {
    sql: "WITH RECURSIVE walk (seq, before, count) AS (SELECT seq, before, 1::bigint FROM $s.entries WHERE seq = $1 UNION ALL SELECT e.seq, e.before, w.count + 1 FROM walk w JOIN $s.entries e ON e.seq = w.before WHERE w.count < $2 AND w.before < w.seq) SELECT seq FROM walk ORDER BY seq",
    why: "the last revisions of a stream by its back pointers, at most a page of them, by key each, in one answer",
  },
  contents: { sql: `SELECT ${contentColumns} FROM $s.contents WHERE n = ANY ($1::bigint[])`, why: "by key" },
  contentFacts: {
    sql: `SELECT ${factColumns} FROM $s.contents WHERE n = ANY ($1::bigint[])`,
    why: "by key, without the bytes",
  },
  contentsByPlain: {
    sql: `SELECT ${factColumns} FROM unnest($1::text[]) w (asked) CROSS JOIN LATERAL (SELECT min(c.n + 0) AS first FROM $s.contents c WHERE c.plain = decode(w.asked, 'hex')) m JOIN $s.contents ON n = m.first`,
    why: "by the partial index; the lowest number, so that the answer is the same on every store, added to 0 so that it is not looked for in the order of numbers",
  },
  nodes: {
    sql: "SELECT encode(hash, 'hex') FROM $s.nodes WHERE level = $1 AND n >= $2 ORDER BY n LIMIT $3",
    why: "a range of the primary key",
  },
  checkpoints: {
    sql: "SELECT size, note FROM $s.checkpoints WHERE size <= $1 ORDER BY size DESC LIMIT $2",
    why: "a range of the key, from its end",
  },
  consumers: {
    sql: `SELECT ${consumerColumns} FROM $s.consumers ORDER BY name`,
    why: "all of them: consumers are few",
  },
  consumer: { sql: `SELECT ${consumerColumns} FROM $s.consumers WHERE name = $1`, why: "by primary key" },
  projections: {
    sql: `SELECT ${projectionColumns} FROM $s.projections ORDER BY id`,
    why: "all of them: tables of documents are few",
  },

  types: { sql: "SELECT id, name FROM $s.types ORDER BY id", why: "all of them, once a connection: types are few" },
  insertTypes: {
    sql: "INSERT INTO $s.types (id, name) SELECT * FROM unnest($1::bigint[], $2::text[])",
    why: "once a type",
  },
  insertContents: {
    sql: "INSERT INTO $s.contents (n, digest, media, salt, plain, bytes) SELECT n, decode(digest, 'hex'), media, salt, decode(plain, 'hex'), bytes FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[]) w (n, digest, media, salt, plain, bytes)",
    why: "at the end of the key; the partial index only where there is a plain hash",
  },
  insertEntries: {
    sql: "INSERT INTO $s.entries (seq, id, stream, rev, before, type, at, skew, entry) SELECT $1 + o - 1, substr($2::bytea, (o::int - 1) * 32 + 1, 32), ($3::bigint[])[o], ($4::bigint[])[o], ($5::bigint[])[o], ($6::bigint[])[o], ($7::bigint[])[o], ($8::bigint[])[o], entry FROM unnest($9::text[]) WITH ORDINALITY w (entry, o)",
    why: "at the end of the key, no other index; one list is walked and the others are looked into, for walking nine costs half as much again",
  },
  insertStreams: {
    sql: "INSERT INTO $s.streams (id, name, rev, last_seq) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[])",
    why: "once a stream",
  },
  moveStreams: {
    sql: "UPDATE $s.streams s SET rev = ($2::bigint[])[o], last_seq = ($3::bigint[])[o] FROM unnest($1::bigint[]) WITH ORDINALITY w (id, o) WHERE s.id = w.id",
    why: "by key, once a stream and batch; no index holds what changes, so a row changes within its page",
  },
  insertPages: {
    sql: "INSERT INTO $s.stream_pages (stream, page, seqs) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])",
    why: "once in 256 revisions",
  },
  insertNodes: {
    sql: "INSERT INTO $s.nodes (level, n, hash) SELECT level, n, decode(hash, 'hex') FROM unnest($1::bigint[], $2::bigint[], $3::text[]) w (level, n, hash)",
    why: "at the end of its level, once in 256 entries",
  },
  storedContents: {
    sql: "SELECT count(*) FROM $s.contents WHERE n = ANY ($1::bigint[]) AND erased IS NULL",
    why: "by key: are they all there?",
  },
  eraseContents: {
    sql: "UPDATE $s.contents SET media = NULL, salt = NULL, plain = NULL, bytes = NULL, erased = $2 WHERE n = ANY ($1::bigint[])",
    why: "by key; what the guard lets through, once a content",
  },
  scrubMark: { sql: "SELECT value FROM $s.meta WHERE key = 'scrub'", why: "by key" },
  markScrub: {
    sql: "INSERT INTO $s.meta (key, value) VALUES ('scrub', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    why: "by key, once an erasure",
  },
  unmarkScrub: { sql: "DELETE FROM $s.meta WHERE key = 'scrub' AND value = $1", why: "by key" },
  putCheckpoint: {
    sql: "INSERT INTO $s.checkpoints (size, note) VALUES ($1, $2) ON CONFLICT (size) DO UPDATE SET note = excluded.note",
    why: "by key, almost always at its end",
  },
  putConsumer: {
    sql: "INSERT INTO $s.consumers (name, position, id, incarnation, generation, claim) VALUES ($1, $2, decode($3, 'hex'), $4, $5, $6) ON CONFLICT (name) DO UPDATE SET position = excluded.position, id = excluded.id, incarnation = excluded.incarnation, generation = excluded.generation, claim = excluded.claim",
    why: "by primary key",
  },
  deleteConsumer: { sql: "DELETE FROM $s.consumers WHERE name = $1", why: "by primary key" },
  lastTable: {
    sql: "SELECT greatest(coalesce((SELECT max(id) FROM $s.projections), 0), coalesce((SELECT value::bigint FROM $s.meta WHERE key = 'table'), 0))",
    why: "the largest id ever given: of the rows, or of one that was dropped; two descents",
  },
  markTable: {
    sql: "INSERT INTO $s.meta (key, value) VALUES ('table', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    why: "by key, once a table of documents",
  },
  retireTable: {
    sql: "INSERT INTO $s.meta (key, value) VALUES ($1, $2)",
    why: "by key, once a table: dropping it here would wait for whoever reads it, with the write lock in hand",
  },
  retiredTables: {
    sql: "SELECT key FROM $s.meta WHERE key > 'retired_' AND key < 'retired`' AND value::bigint <= $1",
    why: "a range of the key",
  },
  insertProjection: {
    sql: "INSERT INTO $s.projections (id, name, version, indexes, status, position, entry_id, error) VALUES ($1, $2, $3, $4, $5, $6, decode($7, 'hex'), $8)",
    why: "at the end of the key",
  },
  updateProjection: {
    sql: "UPDATE $s.projections SET status = $1, position = $2, entry_id = decode($3, 'hex'), error = $4 WHERE id = $5 AND name = $6 AND version = $7 AND indexes = $8",
    why: "by key; what it was made with must be so still",
  },
  deleteProjection: { sql: "DELETE FROM $s.projections WHERE id = $1", why: "by key" },
  putFolded: {
    sql: "INSERT INTO $s.folded (one, position, entry_id, tables) VALUES (1, $1, decode($2, 'hex'), $3) ON CONFLICT (one) DO UPDATE SET position = excluded.position, entry_id = excluded.entry_id, tables = excluded.tables",
    why: "by key: the one row that says it for all tables, so that a commit writes one",
  },
  announce: {
    sql: "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)",
    why: "touches no row; what is only a hint need not wait for the disk",
  },
};

export type StatementName =
  | "lock"
  | "ground"
  | "guard"
  | "takeTurn"
  | "streams"
  | "streamsAside"
  | "entries"
  | "entriesReverse"
  | "entriesAt"
  | "ids"
  | "streamPages"
  | "walkBack"
  | "contents"
  | "contentFacts"
  | "contentsByPlain"
  | "nodes"
  | "checkpoints"
  | "consumers"
  | "consumer"
  | "projections"
  | "types"
  | "insertTypes"
  | "insertContents"
  | "insertEntries"
  | "insertStreams"
  | "moveStreams"
  | "insertPages"
  | "insertNodes"
  | "storedContents"
  | "eraseContents"
  | "scrubMark"
  | "markScrub"
  | "unmarkScrub"
  | "putCheckpoint"
  | "putConsumer"
  | "deleteConsumer"
  | "lastTable"
  | "markTable"
  | "retireTable"
  | "retiredTables"
  | "insertProjection"
  | "updateProjection"
  | "deleteProjection"
  | "putFolded"
  | "announce";
export type Statements = Readonly<Record<StatementName, Statement>>;

/** The statements on the journal in this schema. */
export function statementsOn(schema: string): Statements {
  const all = Object.entries(queries).map(([name, { sql }]) => {
    const text = sql.replaceAll(/\$s\.(\w+)/g, (_, table: string) => qualified(schema, table));
    return [name, { name, text }] as const;
  });
  return Object.fromEntries(all) as unknown as Statements; // of exactly these names
}
