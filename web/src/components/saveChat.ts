import { plainName } from '../state/values/plainName'
import type { ChatStore } from '../state/store/store'

/** Saves the open chat as a file; a chat that is not stored yet has no file. */
export async function saveChat(store: ChatStore, format: 'markdown' | 'json'): Promise<void> {
  const { conversationId, title } = store.getSnapshot()
  if (conversationId === null) return
  const url = URL.createObjectURL(await store.api.exportChat(conversationId, format))
  const link = document.createElement('a')
  link.href = url
  link.download = `${plainName(title.replace(/[\\/:*?"<>|]/g, ' '), 100) || 'chat'}.${format === 'json' ? 'json' : 'md'}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEPT_FOR)
}

/** How long the browser may take to begin, in milliseconds. */
const KEPT_FOR = 10_000
