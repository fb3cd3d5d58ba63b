/** Stores which conversation is open. Each tab has its own; a new tab begins with that of the last used tab. */
export class ConversationStorage {
  private readonly key: string

  /** Without a name nothing is stored. */
  constructor(name: string) {
    this.key = name && `chattray:${name}:conversation`
  }

  keep(conversationId: number | null): void {
    if (!this.key) return
    const id = String(conversationId ?? '')
    try {
      if (sessionStorage.getItem(this.key) === id) return
      sessionStorage.setItem(this.key, id)
      localStorage.setItem(this.key, id)
    } catch {
      // without storage a reload begins a new chat
    }
  }

  read(): number | null {
    try {
      const id = this.key ? Number(sessionStorage.getItem(this.key) ?? localStorage.getItem(this.key)) : 0
      return Number.isInteger(id) && id > 0 ? id : null
    } catch {
      return null
    }
  }
}
