/** Limits of a store. */
export const STORE_LIMITS = {
  /** Messages fetched at a time. */
  pageSize: 50,
  /** How long the stream may be silent, in milliseconds, after the service has done something to its run; then it gets a new connection. */
  news: 3_000,
  /** How long the service takes to delete a chat after the end of its run, in milliseconds. */
  deletion: 1_000,
}
