import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { useChatState, useChatStore } from './context'
import { LOCAL_ID } from './state'

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
 * Says what of a conversation is in sight. A question that is asked here goes to the top of the view, and its answer fills what is
 * below; a chat that is opened is at its end. The end is followed once the reader goes there, until they scroll up. What grows because
 * the reader clicked on it stays where it is, and so does what is in sight when something is put before the first message.
 */
export function useStickToEnd(): StickToEnd {
  const { chat, opening, question, first } = useChatState((state) => ({
    chat: state.conversationId, opening: state.isOpening, question: state.messages.findLast((m) => m.role === 'user')?.id, first: state.messages[0]?.id,
  }))
  const store = useChatStore()
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [stuck, setStuck] = useState(true)
  const follow = useRef(true)
  /** How far the list is scrolled where the question is at the top, and whether the reader has left it there. */
  const anchor = useRef<{ top: number; held: boolean } | null>(null)
  const end = useCallback(() => {
    const box = scroller.current
    // A chat without messages begins at its top.
    const { messages, run } = store.getSnapshot()
    if (box) box.scrollTop = messages.length === 0 && !run ? 0 : box.scrollHeight
  }, [store])
  const jump = useCallback(() => {
    follow.current = true
    setStuck(true)
    end()
  }, [end])
  /** From the top of what is in sight to the end. */
  const below = useRef(0)
  useLayoutEffect(() => {
    const box = scroller.current
    if (anchor.current) place(anchor.current, box, content.current)
    if (box && !follow.current) box.scrollTop = box.scrollHeight - below.current
  }, [first])
  const seen = useRef<{ chat: number | null; opening: boolean; question?: string }>(undefined)
  useLayoutEffect(() => {
    const before = seen.current
    seen.current = { chat, opening, question }
    // A new chat, and a question in it, get their names from the service.
    const same = before && !opening && !before.opening && (before.chat === chat || before.chat === null)
    const isNamed = before?.question?.startsWith(LOCAL_ID) && question?.startsWith(LOCAL_ID) === false
    if (same && (isNamed || before.question === question)) return
    anchor.current = same && question?.startsWith(LOCAL_ID) && lastQuestion(content.current) ? { top: 0, held: true } : null
    content.current?.toggleAttribute('data-anchored', anchor.current !== null)
    if (!anchor.current) return jump()
    place(anchor.current, scroller.current, content.current)
    scroller.current!.scrollTop = anchor.current.top
    follow.current = false
    setStuck(true)
  }, [chat, opening, question, jump])
  useEffect(() => {
    const box = scroller.current
    const inner = content.current
    if (!box || !inner) return
    let height = box.scrollTop
    let touched = -Infinity
    const touch = () => {
      touched = performance.now()
    }
    const near = () => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR
    const scrolled = () => {
      // The room under a short answer is no reason to follow its end.
      if (near() && (!anchor.current || box.scrollTop > anchor.current.top + NEAR)) follow.current = true
      else if (box.scrollTop < height - 1) follow.current = false
      height = box.scrollTop
      below.current = box.scrollHeight - box.scrollTop
      setStuck(near() || follow.current)
    }
    const left = () => {
      if (anchor.current) anchor.current.held = false
    }
    const grown = new ResizeObserver(() => {
      if (anchor.current) {
        // What is above the question gets its height when it is drawn, which may be after the question was put at the top.
        place(anchor.current, box, inner)
        if (anchor.current.held && !follow.current) box.scrollTop = Math.max(anchor.current.top, waiting(box, inner))
      }
      if (performance.now() - touched < TOUCH) follow.current &&= near()
      else if (follow.current) end()
      setStuck(near() || follow.current)
      below.current = box.scrollHeight - box.scrollTop
    })
    box.addEventListener('scroll', scrolled, { passive: true })
    for (const name of BY_HAND) box.addEventListener(name, left, { passive: true })
    inner.addEventListener('click', touch, true)
    grown.observe(inner)
    grown.observe(box)
    return () => {
      box.removeEventListener('scroll', scrolled)
      for (const name of BY_HAND) box.removeEventListener(name, left)
      inner.removeEventListener('click', touch, true)
      grown.disconnect()
    }
  }, [end])
  return { scroller, content, stuck, jump }
}

function lastQuestion(content: HTMLElement | null): Element | undefined {
  return content ? [...content.querySelectorAll('.ct-message[data-role=user]')].at(-1) : undefined
}

/** Makes room for the last question at the top of the view; of a tall one its end stays in sight, and what comes after it. */
function place(anchor: { top: number }, box: HTMLElement | null, content: HTMLElement | null): void {
  const asked = lastQuestion(content)
  if (!box || !content || !asked) return
  const { top, height } = asked.getBoundingClientRect()
  const before = anchor.top
  anchor.top = Math.max(0, top - content.getBoundingClientRect().top - GAP + Math.max(0, height - box.clientHeight * MOST))
  if (anchor.top !== before) content.style.setProperty('--ct-asked', `${anchor.top}px`)
}

/** How far the list is scrolled where what waits for the user is in sight; of a tall one its beginning. */
function waiting(box: HTMLElement, content: HTMLElement): number {
  const asks = content.querySelector('[data-waits]')
  if (!asks) return 0
  const { top, height } = asks.getBoundingClientRect()
  const at = top - content.getBoundingClientRect().top
  return Math.min(at - GAP, at + height + GAP - box.clientHeight)
}

/** Above a question at the top, in pixels, and the share of the view that it has at most. */
const GAP = 16
const MOST = 0.4

/** What a reader does to scroll. A pointer that goes down may be on the scroll bar. */
const BY_HAND = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Distance from the end, in pixels, that still counts as being there. */
const NEAR = 40

/** Time after a click in which what grows is what was clicked on, in milliseconds. */
const TOUCH = 300
