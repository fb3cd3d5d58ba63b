import { describe, expect, it } from 'vitest'
import { eventReader, type SentEvent } from '../src/api/events'

function read(...pieces: string[]): SentEvent[] {
  const events: SentEvent[] = []
  const feed = eventReader((event) => events.push(event))
  for (const piece of pieces) feed(piece)
  return events
}

describe('sent events', () => {
  const text = ': keep-alive\n\nid: 1\nevent: x\ndata: {"a":1}\n\ndata:two\ndata:  lines: \ndata\nretry: 5\n\nid: 2\n\nid: a\0b\ndata: 3\n\ndata: cut\n'
  const events = [{ id: '1', data: '{"a":1}' }, { id: '', data: 'two\n lines: \n' }, { id: '', data: '3' }]

  it.each(['\n', '\r\n', '\r'])('are the same with lines that end with %j, wherever a piece ends', (end) => {
    const sent = text.replaceAll('\n', end)
    expect(read(sent)).toEqual(events)
    expect(read(...sent)).toEqual(events)
    for (let at = 1; at < sent.length; at++) expect(read(sent.slice(0, at), sent.slice(at))).toEqual(events)
  })

  it('may be long and come in many pieces', () => {
    const data = 'x'.repeat(4 * 1024 * 1024)
    expect(read('data: ', ...data.match(/.{1,64}/g)!, '\n\n')[0]?.data === data).toBe(true)
  })
})
