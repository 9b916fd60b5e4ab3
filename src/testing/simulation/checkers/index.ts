/** All checkers of a run, in the order in which they are asked. */
import type { Checker } from "../evidence.js";
import { acknowledged, receipts, refusals, refused } from "./answers.js";
import { fenced, generations, owner } from "./claims.js";
import { completed, order, starved } from "./runs.js";
import { settled, time, verified } from "./whole.js";

export const checkers: readonly Checker[] = [
  settled,
  acknowledged,
  refused,
  refusals,
  receipts,
  owner,
  generations,
  fenced,
  completed,
  starved,
  order,
  time,
  verified,
];
