/**
 * Calls `done` with the value of a promise, or `failed` with its error, unless the returned function is called before. An effect
 * returns that function, so that what arrives after its values have changed is dropped.
 */
export function whenSettled<T>(promise: Promise<T>, done: (value: T) => void, failed?: (error: unknown) => void): () => void {
  let wanted = true
  promise.then((value) => wanted && done(value), (error: unknown) => wanted && failed?.(error))
  return () => {
    wanted = false
  }
}
