import type { ChatEvent } from '../values/state'

/** A message to the other tabs of this browser: that a chat has a new run, shows another version or is deleted, or a change that the user made in it. */
export type TabMessage =
  | { kind: 'changed'; conversationId: number; runId?: string }
  | { kind: 'event'; conversationId: number; event: ChatEvent }

/** The other tabs with the same conversation, by the store's key. Without one there are none. */
export class Tabs<Message = TabMessage> {
  private readonly name: string
  private channel: BroadcastChannel | null = null

  constructor(name: string) {
    this.name = name
  }

  /** Listens to other tabs, and for this tab to become visible, until the returned function is called. */
  join(heard: (message: Message) => void, seen: () => void): () => void {
    const channel = channelOf(this.name)
    const look = () => document.visibilityState === 'visible' && seen()
    this.channel = channel
    channel?.addEventListener('message', (event: MessageEvent<Message>) => heard(event.data))
    globalThis.document?.addEventListener('visibilitychange', look)
    return () => {
      channel?.close()
      if (this.channel === channel) this.channel = null
      globalThis.document?.removeEventListener('visibilitychange', look)
    }
  }

  tell(message: Message): void {
    this.channel?.postMessage(message)
  }
}

/** None where the browser refuses it, as Firefox does together with storage. */
function channelOf(name: string): BroadcastChannel | null {
  try {
    return name ? new BroadcastChannel(name) : null
  } catch {
    return null
  }
}
