import { createChatApi } from '../src'
import type { SocketChunk, SocketEvent } from '../src/api/types'

/** A websocket whose peer is the test. */
export class FakeLine {
  onopen: (() => void) | null = null
  onmessage: ((event: { data: string }) => void) | null = null
  onclose: ((event: { code: number }) => void) | null = null
  closed = false
  readonly events: SocketEvent[] = []
  constructor(readonly url: string) {}
  send(frame: string): void {
    this.events.push(JSON.parse(frame) as SocketEvent)
  }
  close(): void {
    this.closed = true
  }
  accept(): void {
    this.onopen?.()
  }
  give(chunk: SocketChunk): void {
    this.raw(JSON.stringify(chunk))
  }
  raw(data: string): void {
    this.onmessage?.({ data })
  }
  drop(code = 1006): void {
    this.onclose?.({ code })
  }
}

/** A service that issues tickets, unless `ticket` answers otherwise, and the connections that are opened to it. */
export function fakeLines(ticket: () => Response | undefined = () => undefined) {
  const lines: FakeLine[] = []
  let given = 0
  const api = createChatApi({ fetch: async () => ticket() ?? new Response(JSON.stringify({ ticket: `ticket-${++given}`, expires_in: 30 })) })
  class Line extends FakeLine {
    constructor(url: string) {
      super(url)
      lines.push(this)
    }
  }
  return { lines, api, WebSocket: Line as unknown as typeof WebSocket }
}
