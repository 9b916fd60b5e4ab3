/** Preloaded (`node --import .../skewed-clock.mjs?ms=N`), it makes a host whose wall clock is wrong by so many ms. What measures time
 *  that passes (`performance.now`, timers) is left alone, as it is on such a host. */
const ms = Number(new URL(import.meta.url).searchParams.get("ms"));
if (!Number.isSafeInteger(ms)) throw new Error("?ms= must say by how much");

const TrueDate = Date;
const now = () => TrueDate.now() + ms;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  apply: () => new TrueDate(now()).toString(),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});
