/** Which files share the process of their worker, one after the other. What is started and loaded once for all of them, and what
 *  the engine has learnt of the code, is a third of what such a file takes. */
const folders = ["api", "commands", "engine", "forensic", "journal", "kernel", "projections", "regressions", "store"];

export const sharing = {
  include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
};
