/** Whether two values are the same, or two objects have the same members. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const [mine, other] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(mine)
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && Object.is(mine[key], other[key]))
}
