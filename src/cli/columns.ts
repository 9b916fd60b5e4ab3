/** Rows of a list under their headings, each column as wide as what stands in it. */
import type { Terminal } from "./terminal.js";

/** Puts pages of rows out, under headings that come once. Columns never become narrower from one page to the next. */
export class Columns {
  private readonly terminal: Terminal;
  private readonly headings: readonly string[];
  private readonly widths: number[];
  private begun = false;

  constructor(terminal: Terminal, headings: readonly string[]) {
    this.terminal = terminal;
    this.headings = headings;
    this.widths = headings.map(({ length }) => length);
  }

  /** Rows with a cell for each heading; their makers escaped them. */
  async put(rows: readonly (readonly string[])[]): Promise<void> {
    for (const row of rows)
      for (const [column, cell] of row.entries()) this.widths[column] = Math.max(this.widths[column] ?? 0, cell.length);
    if (!this.begun && rows.length > 0) {
      this.begun = true;
      await this.terminal.line(this.terminal.style("dim", this.line(this.headings)));
    }
    for (const row of rows) await this.terminal.line(this.line(row));
  }

  private line(cells: readonly string[]): string {
    return cells
      .map((cell, column) => cell.padEnd(this.widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  }
}

/** So many rows are made before the first is put out. */
const rowsPerPage = 1_000;

/** Takes what comes in pages. */
export async function* pagesOf<Each>(source: AsyncIterable<Each>): AsyncGenerator<readonly Each[], void, undefined> {
  let page: Each[] = [];
  for await (const each of source) {
    if (page.push(each) < rowsPerPage) continue;
    yield page;
    page = [];
  }
  yield page;
}
