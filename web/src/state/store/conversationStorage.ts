import { keptText, replaceText } from '../kept'

/** Stores which conversation is open. Each tab has its own; a new tab begins with that of the last used tab. */
export class ConversationStorage {
  private readonly key: string

  /** Without a name nothing is stored. */
  constructor(name: string) {
    this.key = name && `chattray:${name}:conversation`
  }

  keep(conversationId: number | null): void {
    const id = String(conversationId ?? '')
    if (keptText('sessionStorage', this.key) === id) return
    for (const place of ['sessionStorage', 'localStorage'] as const) replaceText(place, this.key, id)
  }

  read(): number | null {
    const id = Number(keptText('sessionStorage', this.key) ?? keptText('localStorage', this.key))
    return Number.isInteger(id) && id > 0 ? id : null
  }
}
