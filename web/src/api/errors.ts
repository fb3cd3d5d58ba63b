import type { Problem } from './types'

/**
 * An answer other than a success. `code` is the service's, or one of the client's: `network` when there was no answer, `signed_out` when the host has no
 * token, `token_timeout` when it takes too long for one. Of an answer that is not the service's, but a proxy's, it is `signed_out` (401, or a page that the request was redirected to), `refused` (4xx, or a
 * page in place of an answer) or `http`; its text is not shown.
 */
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

/** There is no sign-in. */
export const signedOut = () => new ApiError('You are not signed in. Sign in, then try again.', 401, 'signed_out')

/** An answer of something else, in place of the service's; a redirect leads to a page to sign in. */
function misdirected({ redirected, status }: Response, retryAfter?: number): ApiError {
  return redirected ? signedOut() : new ApiError('The request was refused before it reached the service.', status, 'refused', undefined, retryAfter)
}

/** Returns an answer of the service. A refusal is thrown, and so is an answer of a type that the service does not have here: by default a page. */
export async function checked(response: Response, foreign = /html/): Promise<Response> {
  if (!response.ok) throw await problemOf(response)
  if (foreign.test(response.headers.get('Content-Type') ?? '')) throw misdirected(response)
  return response
}

/** Reads the JSON of a success. */
export async function jsonIn<T>(response: Response): Promise<T> {
  await checked(response)
  try {
    return (response.status === 204 ? undefined : await response.json()) as T
  } catch (error) {
    if (error instanceof SyntaxError) throw misdirected(response)
    // The connection was lost before the end.
    throw error instanceof TypeError ? unreachable() : error
  }
}

/** Reads a problem+json answer of the service (RFC 9457). Any other body is a proxy's, and gives an error by its status. */
async function problemOf(response: Response): Promise<ApiError> {
  const { status } = response
  const body = (await response.json().catch(() => null)) as Problem | null
  const after = response.headers.get('Retry-After') ?? ''
  const wait = Number(after) || (Date.parse(after) - Date.now()) / 1000
  const retryAfter = wait > 0 && wait < Infinity ? wait : undefined
  if (typeof body?.code !== 'string') {
    if (status === 401) return signedOut()
    return status < 500 ? misdirected(response, retryAfter)
      : new ApiError('The service does not answer at the moment. Try again later.', status, 'http', undefined, retryAfter)
  }
  // The detail of a file's error has its name already.
  const details = (body.errors ?? []).map((e) => (/^\/attachments\/\d/.test(e.pointer) ? e.detail : `${e.pointer || '/'} ${e.detail}`)).join('; ')
  return new ApiError([body.detail || `HTTP ${status}`, details].filter(Boolean).join(': '), status, body.code, body, retryAfter)
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
