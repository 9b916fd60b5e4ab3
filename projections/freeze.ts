/** Freezes plain data, all of it. What is frozen already is taken for frozen to its end. */
export function freezeDeep<Value extends object>(value: Value): Value {
  if (Object.isFrozen(value)) return value;
  Object.freeze(value);
  const members = value as Record<string, unknown>;
  for (const name in members) {
    const member = members[name];
    if (typeof member === "object" && member !== null) freezeDeep(member);
  }
  return value;
}
