import { cpus, loadavg, totalmem } from "node:os";
import Database from "better-sqlite3";
import { filesystemOf } from "./scratch.js";

/** Where the figures come from, in the lines that stand above them. */
export function describeMachine(directory: string): readonly string[] {
  const processors = cpus();
  const gibibytes = (totalmem() / 2 ** 30).toFixed(1);
  const [load] = loadavg();
  return [
    `${processors.length} cores (${processors[0]?.model.trim() ?? "unknown"}), ${gibibytes} GiB, ${process.platform} ${process.arch}`,
    `node ${process.versions.node}, SQLite ${sqliteVersion()}, file system ${filesystemOf(directory)}`,
    `load ${load!.toFixed(2)} at the start${load! > 0.5 ? ": others use this machine, mind the spreads" : ""}`,
  ];
}

function sqliteVersion(): string {
  const database = new Database(":memory:");
  const version = database.prepare<[], string>("SELECT sqlite_version()").pluck().get();
  database.close();
  return version ?? "unknown";
}
