import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { useChatState } from './context'

export interface StickToEnd {
  /** For the element that scrolls. */
  scroller: RefObject<HTMLDivElement | null>
  /** For the element in it that grows. */
  content: RefObject<HTMLDivElement | null>
  /** Whether the end is in sight, or followed. */
  stuck: boolean
  /** Goes to the end, and follows it. */
  jump: () => void
}

/**
 * Keeps a scroller at its end while text comes, until the reader scrolls up; a new question or another chat brings it back. What
 * grows because the reader clicked on it stays where it is, and so does what is in sight when something is put before the first message.
 */
export function useStickToEnd(): StickToEnd {
  const { chat, opening, question, first } = useChatState((state) => ({
    chat: state.conversationId, opening: state.isOpening, question: state.messages.findLast((m) => m.role === 'user')?.id, first: state.messages[0]?.id,
  }))
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [stuck, setStuck] = useState(true)
  const follow = useRef(true)
  const end = useCallback(() => {
    const box = scroller.current
    if (box) box.scrollTop = box.scrollHeight
  }, [])
  const jump = useCallback(() => {
    follow.current = true
    setStuck(true)
    end()
  }, [end])
  /** From the top of what is in sight to the end. */
  const below = useRef(0)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box && !follow.current) box.scrollTop = box.scrollHeight - below.current
  }, [first])
  useLayoutEffect(jump, [chat, opening, question, jump])
  useEffect(() => {
    const box = scroller.current
    const inner = content.current
    if (!box || !inner) return
    let height = box.scrollTop
    let touched = -Infinity
    const touch = () => {
      touched = performance.now()
    }
    const scrolled = () => {
      const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR
      if (near) follow.current = true
      else if (box.scrollTop < height - 1) follow.current = false
      height = box.scrollTop
      below.current = box.scrollHeight - box.scrollTop
      setStuck(near || follow.current)
    }
    const grown = new ResizeObserver(() => {
      if (performance.now() - touched < TOUCH) {
        follow.current &&= box.scrollHeight - box.scrollTop - box.clientHeight < NEAR
        setStuck(follow.current)
      } else if (follow.current) {
        end()
      }
      below.current = box.scrollHeight - box.scrollTop
    })
    box.addEventListener('scroll', scrolled, { passive: true })
    inner.addEventListener('click', touch, true)
    grown.observe(inner)
    grown.observe(box)
    return () => {
      box.removeEventListener('scroll', scrolled)
      inner.removeEventListener('click', touch, true)
      grown.disconnect()
    }
  }, [end])
  return { scroller, content, stuck, jump }
}

/** Distance from the end, in pixels, that still counts as being there. */
const NEAR = 40

/** Time after a click in which what grows is what was clicked on, in milliseconds. */
const TOUCH = 300
