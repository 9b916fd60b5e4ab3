/** What an index is made of: a tuple, or null for "not in it". @public */
export type IndexTuple = readonly (null | boolean | number | string)[];
