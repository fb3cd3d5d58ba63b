/** Which conversation is open. Each tab has its own; a new tab begins with that of the tab that was used last. */
export class Memory {
  private readonly key: string

  /** Under an empty name nothing is kept. */
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
