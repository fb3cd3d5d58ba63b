import { useSyncExternalStore } from 'react'

/** The page's route: the parts of the address after the hash, or of its path if the service serves that path. */
export function useRoute(): string[] {
  const path = useSyncExternalStore(listen, read)
  return path.split('/').filter(Boolean).map(decodeURIComponent)
}

export function go(...parts: (string | number)[]): void {
  location.hash = href(...parts).slice(1)
}

export function href(...parts: (string | number)[]): string {
  return `#/${parts.map((p) => encodeURIComponent(String(p))).join('/')}`
}

function listen(changed: () => void): () => void {
  addEventListener('hashchange', changed)
  return () => removeEventListener('hashchange', changed)
}

function read(): string {
  return location.hash ? location.hash.slice(1) : location.pathname
}
