const KEY = 'chattray:token'

let here: string | null = null

/** The user's token: of this tab, and of this page alone where the browser has no storage. */
export function readToken(): string | null {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return here
  }
}

export function keepToken(token: string): void {
  here = token
  try {
    sessionStorage.setItem(KEY, token)
  } catch {
    // without storage the token is lost with the page
  }
}
