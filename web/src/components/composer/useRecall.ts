import { useRef } from 'react'
import { useChatStore } from '../../state/context'
import { keyOf } from '../../state/keys'

/**
 * Recalls the last questions in an empty input: ↑ an earlier one, ↓ a later
 * one. Text that the user has typed or changed is never replaced.
 */
export function useRecall(text: string, setText: (text: string) => void): (e: React.KeyboardEvent<HTMLTextAreaElement>) => boolean {
  const store = useChatStore()
  const shown = useRef({ at: 0, text: '' })
  return (e) => {
    const key = keyOf(e)
    if ((key !== 'ArrowUp' && key !== 'ArrowDown') || e.shiftKey || e.altKey || e.ctrlKey || e.metaKey) return false
    const { value, selectionStart, selectionEnd } = e.currentTarget
    const up = key === 'ArrowUp'
    const within = up ? value.slice(0, selectionStart) : value.slice(selectionEnd)
    const at = text === '' ? 0 : text === shown.current.text ? shown.current.at : -1
    if (at < 0 || within.includes('\n')) return false
    const { messages, waiting } = store.getSnapshot()
    const questions = [...messages, ...waiting].filter((m) => m.role === 'user' && m.content !== '' && !m.action).map((m) => m.content)
    const to = at + (up ? 1 : -1)
    if (to < 0 || to > questions.length) return false
    shown.current = { at: to, text: to === 0 ? '' : questions.at(-to)! }
    setText(shown.current.text)
    return true
  }
}
