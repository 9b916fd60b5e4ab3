/** Judges by the file of `beater.sh` whether two commands of one run were ever at work at the same time. It asks the ledger for
 *  nothing: the file is what the outside world would have seen. */

export interface Beats {
  /** The commands that began, by pid, in order. */
  readonly begun: readonly number[];
  /** How many came to their end. */
  readonly ended: number;
  /** What is wrong: nothing. */
  readonly wrong: readonly string[];
}

export function judgeBeats(text: string): Beats {
  const begun: number[] = [];
  const wrong: string[] = [];
  let ended = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue;
    const [, pid, what] = /^(\d+) (begin|beat|end)$/.exec(line) ?? [];
    if (pid === undefined) wrong.push(`line ${index + 1} must be of a command, found ${JSON.stringify(line)}`);
    else if (what === "begin") {
      if (begun.includes(Number(pid))) wrong.push(`line ${index + 1}: ${pid} begins a second time`);
      begun.push(Number(pid));
    } else if (Number(pid) !== begun.at(-1))
      wrong.push(`line ${index + 1} must be of ${begun.at(-1)}, found ${what} of ${pid}`);
    if (what === "end") ended++;
  }
  return { begun, ended, wrong };
}
