/** Goes on with a value: at once when it is there, which it is as a rule, and otherwise when it was read. An `await` in its
 *  place costs two turns and some hundred bytes each time, whether there is something to wait for or not. */
export function onceKnown<Value, Next>(
  value: Promise<Value> | Value,
  goOn: (value: Value) => Promise<Next> | Next,
): Promise<Next> | Next {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
