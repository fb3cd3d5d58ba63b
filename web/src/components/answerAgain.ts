import { CUT_ID } from '../state/values/state'
import type { ChatStore } from '../state/store/store'

/** Asks for another answer. The service has none where the last one was stopped before its first word: then it answers the question again. */
export function answerAgain(store: ChatStore, id: string): Promise<void> {
  return id.startsWith(CUT_ID) ? store.retry() : store.sendMessage('', { regenerateMessageId: id })
}
