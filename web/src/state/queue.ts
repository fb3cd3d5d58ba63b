import type { Queued } from './state'

/** Messages that wait in a chat, at most. */
export const MAX_QUEUED = 10

/** Keeps the messages that wait, for this tab and by chat, so that a reload does not lose them. */
export class QueueMemory {
  private readonly name: string

  /** Under an empty name nothing is kept. */
  constructor(name: string) {
    this.name = name
  }

  keep(conversationId: number | null, queue: readonly Queued[]): void {
    if (!this.name || conversationId === null) return
    try {
      if (queue.length === 0) sessionStorage.removeItem(this.key(conversationId))
      else sessionStorage.setItem(this.key(conversationId), JSON.stringify(queue))
    } catch {
      // what does not fit, or without storage, waits as long as the page lives
    }
  }

  read(conversationId: number): Queued[] {
    try {
      const kept: unknown = JSON.parse((this.name && sessionStorage.getItem(this.key(conversationId))) || '[]')
      return Array.isArray(kept) ? kept.filter(isQueued).slice(0, MAX_QUEUED + 1) : []
    } catch {
      return []
    }
  }

  private key(conversationId: number): string {
    return `chattray:${this.name}:queue:${conversationId}`
  }
}

function isQueued(value: unknown): value is Queued {
  const queued = value as Partial<Queued> | null
  return typeof queued?.id === 'string' && typeof queued.message === 'string' && Array.isArray(queued.attachments)
}
