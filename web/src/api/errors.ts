import type { Problem } from './types'

/** An answer other than a success. `code` is the service's, or one of the client's: `network` when there was no answer, `signed_out` when the host has no token. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly problem?: Problem
  /** Seconds that the service asks to wait. */
  readonly retryAfter?: number

  constructor(message: string, status: number, code: string, problem?: Problem, retryAfter?: number) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.problem = problem
    this.retryAfter = retryAfter
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/** There was no answer. */
export const unreachable = () => new ApiError('The service cannot be reached.', 0, 'network')

/** Reads a problem+json answer (RFC 9457); any other body gives a plain error. */
export async function problemOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Problem | null
  const wait = Number(response.headers.get('Retry-After'))
  // The detail of a file's error has its name already.
  const details = (body?.errors ?? []).map((e) => (/^\/attachments\/\d/.test(e.pointer) ? e.detail : `${e.pointer || '/'} ${e.detail}`)).join('; ')
  const message = [body?.detail || response.statusText || `HTTP ${response.status}`, details].filter(Boolean).join(': ')
  return new ApiError(message, response.status, body?.code ?? 'http', body ?? undefined, Number.isFinite(wait) && wait > 0 ? wait : undefined)
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
