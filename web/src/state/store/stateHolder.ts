import type { ChatApi } from '../../api/client'
import { ApiError } from '../../api/errors'
import { reduce, type ChatEvent, type ChatState, type Failure } from '../values/state'
import { RenderThrottle } from './renderThrottle'

/** The state of one tray, with the client of its service. Listeners are called at most once for each frame of the screen. */
export class StateHolder {
  readonly api: ChatApi
  /** The state by now; listeners learn of it later. */
  state: ChatState
  private shown: ChatState
  private readonly listeners = new Set<() => void>()
  private readonly throttle = new RenderThrottle(() => this.show())

  constructor(api: ChatApi, state: ChatState) {
    this.api = api
    this.shown = this.state = state
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly getSnapshot = (): ChatState => this.shown

  readonly dispatch = (event: ChatEvent): void => {
    const before = this.state
    this.state = reduce(before, event)
    if (this.state === before) return
    if (event.type !== 'frame' || !this.state.run) this.throttle.now()
    else this.throttle.soon()
  }

  set(set: Partial<ChatState>): void {
    this.dispatch({ type: 'set', set })
  }

  private show(): void {
    if (this.shown === this.state) return
    this.shown = this.state
    for (const listener of this.listeners) {
      try {
        listener()
      } catch (error) {
        // One of the page must not keep the others, and what the store does, from theirs.
        console.error(error)
      }
    }
  }

  /** Asks about the open chat. There is no answer, and no error, if no chat is open, or another one when it comes. */
  async about<T>(ask: (conversationId: number) => Promise<T>): Promise<T | undefined> {
    const { conversationId } = this.state
    if (conversationId === null) return
    const isOpen = () => this.state.conversationId === conversationId
    try {
      const answer = await ask(conversationId)
      if (isOpen()) return answer
    } catch (error) {
      if (isOpen()) throw error
    }
  }

  /** Waits until the chat is open. */
  opened(): Promise<void> {
    return new Promise((resolve) => {
      const leave = this.subscribe(() => {
        if (this.state.isOpening) return
        leave()
        resolve()
      })
    })
  }

  /** Shows an error that does not belong to the last question. */
  readonly note = (error: unknown): void => this.set({ error: unrelated(failureOf(error)) })
}

/** The status of a refusal. What else is thrown is an error of the page, and has none. */
export const statusOf = (error: unknown): number | undefined => (error instanceof ApiError ? error.status : undefined)

/** An error as the state has it. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof ApiError)) return { message: 'Something went wrong in the page.', code: 'page', retryable: true }
  const { message, code, retryable } = error
  return { message, code, retryable }
}

export const unrelated = (failure: Failure): Failure => ({ ...failure, unrelated: true })
