/** One statement: prepared once a connection, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement with its values; one without a name is not kept. */
export interface Ask {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}
