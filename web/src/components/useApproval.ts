import { useCallback, useEffect, useState } from 'react'
import { ApiError } from '../api/errors'
import { problemWords } from '../labels/tray'
import { mayAllowAlways } from '../state/store/approvals'
import { useChatState, useChatStore } from '../state/context'
import { useLabels } from '../state/tray'
import { waitingApproval, type ApprovalView } from '../state/values/view'

export interface ApprovalAnswerOptions {
  /** Replaces the model's input; it has to fit the tool's schema. */
  input?: unknown
  /** Also allows every further call of the tool in this chat. */
  always?: boolean | undefined
}

/** A call that waits for the user, and the user's answer to it. */
export interface ApprovalState {
  /** Undefined while none waits. */
  approval: ApprovalView | undefined
  /** Whether "always" may be offered for it. */
  mayAllowAlways: boolean
  sending: boolean
  /** Why the answer was refused; empty if it was not. */
  problem: string
  approve: (options?: ApprovalAnswerOptions) => Promise<boolean>
  deny: () => Promise<boolean>
}

/** How an answer is sent. */
export type SendApproval = (runId: string, approvalId: string, approved: boolean, input?: unknown) => Promise<unknown>

/** The given approval, or the last waiting one of the current run. With `send` it is answered that way, and "always" is not offered. */
export function useApproval(given?: ApprovalView, runId?: string, send?: SendApproval): ApprovalState {
  const store = useChatStore()
  const labels = useLabels()
  const { run, conversationId, link } = useChatState((state) => ({ run: state.run, conversationId: state.conversationId, link: state.link }))
  const approval = given ?? waitingApproval(run)
  const of = runId ?? run?.runId ?? ''
  const id = approval?.id ?? ''
  const [state, setState] = useState({ id, sending: false, problem: '', again: false })
  // What could not be sent before the connection came back can be sent now.
  useEffect(() => {
    if (link === 'live') setState((last) => (last.again ? { ...last, problem: '', again: false } : last))
  }, [link])
  const answer = useCallback(async (approved: boolean, { input, always = false }: ApprovalAnswerOptions = {}) => {
    if (!approval) return false
    setState({ id: approval.id, sending: true, problem: '', again: false })
    try {
      await (send ? send(of, approval.id, approved, input) : store.approvals.answer(of, approval.id, approved, input))
      if (approved && always && conversationId !== null && mayAllowAlways(approval.reason)) store.approvals.allowAlways(conversationId, approval.tool)
      return true
    } catch (error) {
      setState({ id: approval.id, sending: false, problem: problemWords(labels, error), again: error instanceof ApiError && error.retryable })
      return false
    }
  }, [store, labels, approval, of, conversationId, send])
  const own = state.id === id ? state : { sending: false, problem: '' }
  return {
    approval, mayAllowAlways: approval !== undefined && !send && mayAllowAlways(approval.reason), sending: own.sending, problem: own.problem,
    approve: useCallback((options?: ApprovalAnswerOptions) => answer(true, options), [answer]),
    deny: useCallback(() => answer(false), [answer]),
  }
}
