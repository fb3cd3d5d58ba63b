import { useCallback, useEffect, useRef, useState, type RefObject } from 'react'
import { useChatState, useChatStore } from '../state/context'
import { useBeforePaint } from '../state/useBeforePaint'
import { LOCAL_ID, type GeneralChatMessage } from '../state/values/state'

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

const isQuestion = (message: GeneralChatMessage) => message.role === 'user'

/**
 * Controls the scroll position of a conversation. A question that is asked here moves to the top of the view, and its answer fills the
 * space below; a chat that is opened is scrolled to its end. The view follows the end once the reader has scrolled there, until they
 * scroll up. An element that grows because the reader clicked on it stays in place, and so does the view when earlier messages are added.
 */
export function useStickToEnd(): StickToEnd {
  const { chat, opening, question, first } = useChatState((state) => ({
    chat: state.conversationId, opening: state.isOpening, question: (state.waiting.findLast(isQuestion) ?? state.messages.findLast(isQuestion))?.id, first: state.messages[0]?.id,
  }))
  const store = useChatStore()
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [stuck, setStuck] = useState(true)
  const follow = useRef(true)
  /** How far the list is scrolled where the question is at the top, -1 until that is known, and whether the reader has left it there. */
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
  /** The distance from the top of the view to the end. */
  const below = useRef(0)
  const begins = useRef(first)
  useBeforePaint(() => {
    const box = scroller.current
    const isNamed = begins.current?.startsWith(LOCAL_ID)
    begins.current = first
    // What has grown while the first question got its id is below it.
    if (isNamed) return
    if (anchor.current) place(anchor.current, box, content.current)
    if (box && !follow.current) box.scrollTop = box.scrollHeight - below.current
  }, [first])
  const seen = useRef<{ chat: number | null; opening: boolean; question?: string }>(undefined)
  useBeforePaint(() => {
    const before = seen.current
    seen.current = { chat, opening, question }
    // A new chat and its question get their ids from the service.
    const same = before && !opening && !before.opening && (before.chat === chat || before.chat === null)
    const isNamed = before?.question?.startsWith(LOCAL_ID) && question?.startsWith(LOCAL_ID) === false
    if (same && (isNamed || before.question === question)) return
    // A chat that is read again, as for the next question that waits, leaves the reader where they are.
    if (before?.chat === chat && before.question === question && !follow.current) return
    anchor.current = same && question?.startsWith(LOCAL_ID) && lastQuestion(content.current) ? { top: -1, held: true } : null
    if (!anchor.current) {
      if (content.current) content.current.style.minHeight = ''
      return jump()
    }
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
        // Messages above the question get their height when they are drawn, which may be after the question was moved to the top.
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

/** Makes room for the last question at the top of the view, and for its answer in the rest. The end of a tall question stays in sight, with what follows it. */
function place(anchor: { top: number }, box: HTMLElement | null, content: HTMLElement | null): void {
  const asked = lastQuestion(content)
  if (!box || !content || !asked) return
  const { top, height } = asked.getBoundingClientRect()
  const before = anchor.top
  anchor.top = Math.max(0, top - content.getBoundingClientRect().top - GAP + Math.max(0, height - box.clientHeight * MOST))
  // Not with a custom property, which all messages would inherit.
  if (anchor.top !== before) content.style.minHeight = `calc(${anchor.top}px + 100cqh)`
}

/** The scroll position at which the element that waits for the user is in sight; of a tall one its beginning. */
function waiting(box: HTMLElement, content: HTMLElement): number {
  const asks = content.querySelector('[data-waits]')
  if (!asks) return 0
  const { top, height } = asks.getBoundingClientRect()
  const at = top - content.getBoundingClientRect().top
  return Math.min(at - GAP, at + height + GAP - box.clientHeight)
}

/** The space above a question at the top in pixels, and the largest share of the view that a question takes. */
const GAP = 16
const MOST = 0.4

/** The events of a reader who scrolls. A pointer that is pressed may be on the scroll bar. */
const BY_HAND = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Distance from the end, in pixels, that still counts as being there. */
const NEAR = 40

/** The time after a click, in milliseconds, in which growth counts as caused by the click. */
const TOUCH = 300
