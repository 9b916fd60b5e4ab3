/** What the disk itself allows: 4 KiB and fdatasync, with nothing around it. */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";

const blockBytes = 4_096;
const blocks = 4_096; // 16 MiB, about what a write-ahead log reuses

export interface RawDisk {
  /** Writes the next block and waits for the disk. */
  write(): void;
  close(): void;
}

/** Overwrites blocks that are written already, round and round: no allocation, no change of length. */
export function overwriteBlocks(path: string): RawDisk {
  const file = openSync(path, "w+", 0o600);
  const block = Buffer.alloc(blockBytes, 1);
  for (let index = 0; index < blocks; index++) writeSync(file, block, 0, blockBytes, index * blockBytes);
  fsyncSync(file);
  let next = 0;
  return {
    write() {
      block.writeUInt32LE(next, 0);
      writeSync(file, block, 0, blockBytes, (next++ % blocks) * blockBytes);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** Appends blocks: each one is allocated and makes the file longer. */
export function appendBlocks(path: string): RawDisk {
  const file = openSync(path, "a", 0o600);
  const block = Buffer.alloc(blockBytes, 1);
  return {
    write() {
      writeSync(file, block);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}
