/** The version of this engine, recorded in each journal's first entry. A test holds it equal to package.json. */
export const version = "0.1.0";
