/** Makes a value for each object, once; it exists as long as the object. */
export function perObject<K extends object, T extends object>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, T>()
  return (key) => {
    let value = made.get(key)
    if (!value) made.set(key, (value = make(key)))
    return value
  }
}
