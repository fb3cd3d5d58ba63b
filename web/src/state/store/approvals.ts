import type { ChatApi } from '../../api/client'
import type { Props } from '../../api/types'
import { keepList, keptList } from '../kept'
import { text } from '../values/run'

/** The reason of an approval that the user may give once for a chat: the tool always asks. Approvals with other reasons are asked for each time. */
const USUAL = new Set(['', 'tool_confirms'])

/** Whether the user may allow all further calls of this kind in the chat. */
export function mayAllowAlways(reason: string): boolean {
  return USUAL.has(reason)
}

/**
 * Answers calls that wait for the user. "Always" applies to one tool in one chat, in this tab: it is stored here and not
 * in the service, so that another device asks again.
 */
export class Approvals {
  private readonly api: ChatApi
  private readonly done?: () => void
  private readonly key: (conversationId: number) => string
  private readonly here = new Map<number, Set<string>>()
  private readonly answered = new Set<string>()

  /** `name` is the beginning of the keys in the tab's storage; without a name the choice is lost with the page. `done` is called when the service has an answer. */
  constructor(api: ChatApi, name: string, done?: () => void) {
    this.api = api
    this.done = done
    this.key = (conversationId) => name && `${name}:allowed:${conversationId}`
  }

  async answer(runId: string, approvalId: string, approved: boolean, input?: unknown): Promise<void> {
    await this.api.answerApproval(runId, approvalId, approved, input)
    this.done?.()
  }

  allowAlways(conversationId: number, tool: string): void {
    const allowed = this.allowed(conversationId).add(tool)
    this.here.set(conversationId, allowed)
    keepList('sessionStorage', this.key(conversationId), [...allowed])
  }

  isAllowed(conversationId: number, tool: string): boolean {
    return this.allowed(conversationId).has(tool)
  }

  /** Approves a call that the user has allowed already. A call with an answer is left as it is. */
  serve(runId: string, conversationId: number, props: Props): void {
    const id = text(props.approval_id)
    if (typeof props.approved === 'boolean' || id === '' || this.answered.has(id) || !mayAllowAlways(text(props.reason)) || !this.isAllowed(conversationId, text(props.name))) return
    this.answered.add(id)
    this.answer(runId, id, true).catch(() => this.answered.delete(id))
  }

  private allowed(conversationId: number): Set<string> {
    return this.here.get(conversationId) ?? new Set(keptList('sessionStorage', this.key(conversationId)).filter((name) => typeof name === 'string'))
  }
}
