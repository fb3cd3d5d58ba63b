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
      for (const storage of [sessionStorage, localStorage]) this.put(storage, id)
    } catch {
      // without storage a reload begins a new chat
    }
  }

  /** Where there is no room, the former chat is not stored either: a reload would open it. */
  private put(storage: Storage, id: string): void {
    storage.removeItem(this.key)
    try {
      storage.setItem(this.key, id)
    } catch {
      // the other storage may have room
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
