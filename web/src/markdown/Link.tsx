import type { ReactNode } from 'react'

/**
 * A link that opens in a new tab. If its text looks like another address than its target, the real host follows in
 * parentheses. `text` is the visible text of the children.
 */
export function OutsideLink({ href, text, children }: { href: string; text: string; children: ReactNode }) {
  const host = misledFrom(href, text)
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>
      {host !== '' && <bdi className="ct-link-host"> ({host})</bdi>}
    </>
  )
}

/** Characters that are invisible, or change the direction of those after them. */
const INVISIBLE = /[\p{Cf}\p{Mn}\p{Default_Ignorable_Code_Point}]/gu
const DOTS = /[\u3002\uff0e\uff61\u2024]/g
const DOMAIN = /^(?:[\p{L}\p{N}_-]+\.)+\p{L}[\p{L}\p{N}-]+$/u

/** The host or mail address of a link's target if its text names another one, else nothing. */
export function misledFrom(href: string, text: string): string {
  let target: URL
  try {
    target = new URL(href, globalThis.location?.href)
  } catch {
    return ''
  }
  const mail = target.protocol === 'mailto:'
  const shown = mail ? decoded(target.pathname) : target.host
  const real = plainHost(mail ? shown.slice(shown.lastIndexOf('@') + 1) : target.hostname)
  return hostsIn(text).every((host) => host === real) ? '' : shown
}

/** The hosts that a text names, in words that look like an address. Letters outside ASCII are compared as they are. */
function hostsIn(text: string): string[] {
  const found: string[] = []
  for (const word of text.replace(INVISIBLE, '').replace(DOTS, '.').normalize('NFKC').toLowerCase().split(/[\s()[\]{}<>"'“”«»,;]+/)) {
    const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/|mailto:)?(.*)$/.exec(word) ?? []
    const authority = (rest ?? '').split(/[/?#\\]/, 1)[0] ?? ''
    for (const part of authority.split('@')) {
      const host = plainHost(part.replace(/:.*$/, '').replace(/[.!]+$/, ''))
      const named = scheme && scheme !== 'mailto:' && part === authority
      if (host !== '' && (named || DOMAIN.test(host))) found.push(host)
    }
  }
  return found
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/^www\./, '').replace(/\.$/, '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
