/** The public test vectors, where they are at hand: they stand beside the clone and are not part of it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../shared/vectors/", import.meta.url));

/** Are the vectors of this kind there? Tests of them are defined only then; known answers in the tests run always. */
export function hasVectors(kind: string): boolean {
  return existsSync(folder + kind);
}

/** The bytes of one vector file. */
export function readVector(path: string): Buffer {
  return readFileSync(folder + path);
}

/** The names of the files in one folder of vectors. */
export function listVectors(path: string): string[] {
  return readdirSync(folder + path).sort();
}

/** The paths of all JSON files in a folder of vectors and the folders in it, from the folder on. */
export function findVectors(path: string): string[] {
  const names = readdirSync(folder + path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".json")).sort();
}
