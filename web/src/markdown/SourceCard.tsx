import { useEffect, useRef, type RefObject } from 'react'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import { useLabels } from '../state/tray'
import { useLatest } from '../state/useLatest'
import { OutsideLink } from './Link'
import type { Source } from './sources'

export interface SourceCardProps {
  id: string
  source: Source
  /** The number that the card belongs to. */
  button: RefObject<HTMLButtonElement | null>
  /** Called on Escape, when something else is pressed, and when the number is out of sight. */
  onClose: () => void
}

/** The card of a source, over the page at its number. */
export default function SourceCard({ id, source, button, onClose }: SourceCardProps) {
  const labels = useLabels()
  const card = useRef<HTMLSpanElement>(null)
  const latest = useLatest(onClose)
  useEffect(() => {
    const element = card.current
    const number = button.current
    if (!element || !number) return
    element.showPopover?.()
    const leave = follow(number, element, () => latest.current())
    const close = (e: Event) => {
      if (e instanceof KeyboardEvent ? takeEscape(e) : ![element, number].some((part) => e.composedPath().includes(part))) latest.current()
    }
    document.addEventListener('keydown', close, true)
    document.addEventListener('pointerdown', close, true)
    return () => {
      leave()
      document.removeEventListener('keydown', close, true)
      document.removeEventListener('pointerdown', close, true)
    }
  }, [button, latest])
  return (
    <span ref={card} id={id} className="ct-cite-card" {...OWN_ESCAPE} popover="manual" role="group" aria-label={labels.source(source.number, source.title)} dir="auto">
      <strong>{source.title}</strong>
      {source.detail && <span>{source.detail}</span>}
      {source.url && <OutsideLink href={source.url} text={source.url}>{hostOf(source.url)}</OutsideLink>}
    </span>
  )
}

/** Keeps a card at its number while the window is resized and the answer scrolls or grows, until the returned function is called. `gone` is called when the number is out of sight. */
function follow(number: HTMLElement, card: HTMLElement, gone: () => void): () => void {
  let frame = 0
  let before = ''
  const place = () => {
    frame = requestAnimationFrame(place)
    const at = number.getBoundingClientRect()
    const now = [at.left, at.top, at.width, innerWidth, innerHeight].join()
    if (now === before) return
    before = now
    const view = number.closest('.ct-list, .ct-panel-body')?.getBoundingClientRect()
    if (at.bottom < Math.max(0, view?.top ?? 0) || at.top > Math.min(innerHeight, view?.bottom ?? Infinity)) return gone()
    const { width, height } = card.getBoundingClientRect()
    card.style.left = `${Math.max(GAP, Math.min(at.left + at.width / 2 - width / 2, innerWidth - width - GAP))}px`
    card.style.top = `${at.top > height + 2 * GAP ? at.top - height - GAP / 2 : at.bottom + GAP / 2}px`
  }
  place()
  return () => cancelAnimationFrame(frame)
}

/** The distance of a card from its number and from the window, in pixels. */
const GAP = 8

function hostOf(url: string): string {
  try {
    return new URL(url).host.replace(/^www\./, '')
  } catch {
    return url
  }
}
