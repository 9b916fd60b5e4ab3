/** Answers what puts the members of prototypes back, and says which there were to put back. */
export function rememberPrototypes(): () => string[] {
  const prototypes = { Object: Object.prototype, Array: Array.prototype, Function: Function.prototype };
  const before = Object.entries(prototypes).map(([name, prototype]) => ({
    name,
    prototype,
    descriptors: Object.getOwnPropertyDescriptors(prototype) as Record<PropertyKey, PropertyDescriptor>,
  }));
  return () =>
    before.flatMap(({ name, prototype, descriptors }) => {
      const changed = Reflect.ownKeys(prototype).filter((key) => {
        const now = Object.getOwnPropertyDescriptor(prototype, key);
        return now?.value !== descriptors[key]?.value || now?.get !== descriptors[key]?.get;
      });
      for (const key of changed) {
        const descriptor = Object.hasOwn(descriptors, key) ? descriptors[key] : undefined;
        if (descriptor === undefined) Reflect.deleteProperty(prototype, key);
        else Object.defineProperty(prototype, key, descriptor);
      }
      return changed.map((key) => `${name}.prototype.${String(key)}`);
    });
}
