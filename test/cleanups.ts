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

/** Makes what the later tests of this file use too: what it would clean up behind this test is done behind the file. */
export async function keepToEndOfFile<T>(make: () => Promise<T>): Promise<T> {
  const own = behindTest.splice(0);
  try {
    return await make();
  } finally {
    behindFile.push(...behindTest.splice(0));
    behindTest.push(...own);
  }
}

export function endTest(): Promise<void> {
  return cleanUp(behindTest);
}

export function endFile(): Promise<void> {
  return cleanUp(behindFile);
}

/** Whatever is added meanwhile, too. */
async function cleanUp(cleans: Clean[]): Promise<void> {
  for (let clean = cleans.pop(); clean !== undefined; clean = cleans.pop()) await clean();
}
