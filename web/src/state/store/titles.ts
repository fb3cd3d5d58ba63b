import type { StateHolder } from './stateHolder'

export type Titles = ReturnType<typeof createTitles>

/** Learns the title that the service may give a new chat some time after its first answer. */
export function createTitles(chat: StateHolder) {
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Asks for the title of the open chat after some time, and once more if it is the same then. */
  function expect(after = TITLE_AFTER): void {
    clearTimeout(timer)
    timer = setTimeout(() => void ask(after), after)
  }

  /** Shows the title that was read of the open chat, unless it had another one before by then. */
  function show(before: string, title = before): void {
    if (chat.state.title === before && title !== before) chat.set({ title })
  }

  async function ask(after: number): Promise<void> {
    const { title } = chat.state
    const read = await chat.about((id) => chat.api.getChat(id, { limit: 1 }).catch(() => null))
    if (read === undefined) return
    show(title, read?.title)
    if (chat.state.title === title && after === TITLE_AFTER) expect(4 * after)
  }

  return { expect, show, leave: () => clearTimeout(timer) }
}

/** Milliseconds after a first answer at which the title is asked for; it is asked for once more after four times as many. */
const TITLE_AFTER = 2_500
