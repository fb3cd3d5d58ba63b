import { keepList, keptList } from './kept'
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
    if (conversationId !== null) keepList('sessionStorage', this.key(conversationId), queue)
  }

  read(conversationId: number): Queued[] {
    return keptList('sessionStorage', this.key(conversationId)).filter(isQueued).slice(0, MAX_QUEUED + 1)
  }

  private key(conversationId: number): string {
    return this.name && `chattray:${this.name}:queue:${conversationId}`
  }
}

function isQueued(value: unknown): value is Queued {
  const queued = value as Partial<Queued> | null
  return typeof queued?.id === 'string' && typeof queued.message === 'string' && Array.isArray(queued.attachments)
}
