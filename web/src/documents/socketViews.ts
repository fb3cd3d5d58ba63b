import type { SocketApproval, SocketTool } from '../socket/chunks'
import type { ApprovalView, ToolView } from '../state/values/view'

/** A call over the socket as a card shows it. */
export function toolOf(tool: SocketTool): ToolView {
  return {
    key: tool.tool_use_id, index: tool.index, name: tool.tool, title: tool.title ?? '', done: tool.done ?? '', input: tool.input, output: tool.output ?? '', isError: tool.state === 'error',
    status: tool.state, progress: tool.progress, stage: tool.stage ?? '', message: tool.message ?? '',
  }
}

/** A call that waits for the user as its card shows it. */
export function approvalOf(a: SocketApproval): ApprovalView {
  return { id: a.approval_id, tool: a.tool, title: a.title ?? '', description: a.description ?? '', input: a.input, message: a.message, expiresAt: a.expires_at ?? '', reason: a.reason ?? '' }
}
