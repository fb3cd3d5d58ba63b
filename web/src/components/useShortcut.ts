import { useEffect, useRef, type RefObject } from 'react'
import { keyOf } from '../state/keys'

/** The key that opens and closes a tray if the page names none. */
export const SHORTCUT = 'Mod+/'

/** Whether keys are those of a Mac. */
export const mac = () => typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform)

/** A key as `Mod+K` or `Alt+Shift+C`; Mod is Command on a Mac and Control elsewhere. */
export function parse(shortcut: string) {
  const parts = shortcut.split('+')
  const key = (parts.pop() || '+').toLowerCase()
  const has = (name: string) => parts.some((part) => part.toLowerCase() === name)
  const mod = has('mod')
  return { key, ctrl: has('ctrl') || (mod && !mac()), meta: has('meta') || (mod && mac()), alt: has('alt'), shift: has('shift') }
}

function isPressed(e: KeyboardEvent, shortcut: string): boolean {
  const { key, ctrl, meta, alt, shift } = parse(shortcut)
  // On some keyboards a sign such as / needs Shift.
  const shifted = e.shiftKey === shift || !/[a-z0-9]/.test(key)
  return keyOf(e).toLowerCase() === key && e.ctrlKey === ctrl && e.metaKey === meta && e.altKey === alt && shifted
}

export interface Shortcut {
  shortcut: string | false
  root: RefObject<HTMLElement | null>
  input: RefObject<HTMLElement | null>
  shown: boolean
  show: (on: boolean) => void
}

const TRAYS = Symbol.for('chattray:trays')

/** The trays of the page, which may have the package twice. */
const trays = ((globalThis as { [TRAYS]?: Set<RefObject<Shortcut>> })[TRAYS] ??= new Set())

/** In a shadow root the document only knows its host. */
const activeFor = ({ root }: Shortcut) => (root.current?.getRootNode() as Document | undefined)?.activeElement ?? document.activeElement

/**
 * Opens a tray and puts the focus into its input; from inside it, closes it and
 * returns the focus. A key that the page has handled itself is ignored. Of trays
 * with the same key, the one with the focus closes, and else the first opens.
 * What is returned tells whether the input gets the focus when the tray opens.
 */
export function useShortcut(now: Shortcut): RefObject<boolean> {
  const latest = useRef(now)
  const before = useRef<Element | null>(null)
  const wanted = useRef(false)
  useEffect(() => {
    latest.current = now
    if (!now.shown || !wanted.current) return
    wanted.current = false
    now.input.current?.focus()
  })
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.repeat) return
      const meant = [...trays].filter(({ current: { shortcut } }) => shortcut && isPressed(e, shortcut))
      const focused = meant.find(({ current: tray }) => tray.shown && tray.root.current?.contains(activeFor(tray)))
      if ((focused ?? meant[0]) !== latest) return
      e.preventDefault()
      const { input, shown, show } = latest.current
      if (focused) {
        show(false)
        if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus()
        return
      }
      before.current = activeFor(latest.current)
      if (shown && input.current) return input.current.focus()
      wanted.current = true
      show(true)
    }
    trays.add(latest)
    window.addEventListener('keydown', pressed)
    return () => {
      trays.delete(latest)
      window.removeEventListener('keydown', pressed)
    }
  }, [])
  return wanted
}
