import { useEffect, useRef, type ReactNode } from 'react'

export interface ScrollerProps {
  className: string
  label?: string
  /** The box is part of a line of text. */
  inline?: boolean
  children: ReactNode
  /** Called with whether the content is wider than the box. */
  onEdges?: (wide: boolean) => void
}

/** A box that scrolls, with a shade at each edge beyond which there is more content. */
export function Scroller({ className, label, inline = false, children, onEdges }: ScrollerProps) {
  const Box = inline ? 'span' : 'div'
  const box = useRef<HTMLDivElement & HTMLSpanElement>(null)
  const told = useRef(onEdges)
  useEffect(() => {
    told.current = onEdges
  })
  useEffect(() => {
    const element = box.current
    const frame = element?.parentElement
    if (!element || !frame) return
    const look = () => {
      const start = Math.abs(element.scrollLeft)
      const end = element.scrollWidth - element.clientWidth - start
      const [left, right] = element.scrollLeft < 0 || getComputedStyle(element).direction === 'rtl' ? [end, start] : [start, end]
      const edges = [
        left > 1 && 'left', right > 1 && 'right',
        element.scrollTop > 1 && 'top', element.scrollTop + element.clientHeight < element.scrollHeight - 1 && 'bottom',
      ].filter(Boolean).join(' ')
      const wide = element.scrollWidth > element.clientWidth + 1
      return () => {
        if (frame.dataset.more !== edges) frame.dataset.more = edges
        told.current?.(wide)
      }
    }
    const scrolled = () => look()()
    element.addEventListener('scroll', scrolled, { passive: true })
    // The observer measures first: measuring here would force a layout.
    const unwatch = watch(element.firstElementChild ? [element, element.firstElementChild] : [element], look)
    return () => {
      element.removeEventListener('scroll', scrolled)
      unwatch()
    }
  }, [])
  return (
    <Box className="ct-scroll">
      <Box ref={box} className={className} tabIndex={0} role="group" aria-label={label}>{children}</Box>
    </Box>
  )
}

/** Measures a box; what it returns shows the result. */
type Look = () => () => void

const looks = new Map<Element, Look>()
let observer: ResizeObserver | undefined

/**
 * Looks when an element has a new size, until the returned function is called. All boxes have one observer: it measures all that
 * changed before one of them shows its result, after which the next one's measure would force a layout.
 */
export function watch(elements: Element[], look: Look): () => void {
  observer ??= new ResizeObserver((entries) => {
    const changed = new Set(entries.map(({ target }) => looks.get(target)))
    for (const show of [...changed].map((measure) => measure?.())) show?.()
  })
  for (const element of elements) {
    looks.set(element, look)
    observer.observe(element)
  }
  return () => {
    for (const element of elements) {
      looks.delete(element)
      observer?.unobserve(element)
    }
    if (looks.size === 0) observer = undefined
  }
}
