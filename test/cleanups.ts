/** What fixtures want done behind a test, or behind a file. Files may share a process, and with it the modules of the fixtures, so
 *  that only `setup.ts`, which runs anew before each file, may declare hooks for all of them. */
type Clean = () => Promise<void> | void;

const behindTest: Clean[] = [];
const behindFile: Clean[] = [];

/** Behind the test that runs now, the last one first. */
export function onCleanup(clean: Clean): void {
  behindTest.push(clean);
}

/** Behind the last test of the file that runs now. */
export function onEndOfFile(clean: Clean): void {
  behindFile.push(clean);
}

export async function endTest(): Promise<void> {
  for (const clean of behindTest.splice(0).reverse()) await clean();
}

export async function endFile(): Promise<void> {
  for (const clean of behindFile.splice(0).reverse()) await clean();
}
