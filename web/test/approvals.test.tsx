import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { ChatStore, useApproval, type ChatTrayProps } from '../src'
import { event, fakeApi, frame, json, type Call } from './fakes'
import { input, live, show } from './shown'

const ask = (more: object = {}) => frame('approval', { approval_id: 'ap', name: 'remove_order', title: 'Remove an order', description: 'Removes an order. Long story.', id: 't1', input: { order_id: 7, note: 'x', sure: true, tags: ['a'] }, message: 'The assistant wants to run remove_order. Approve it?', reason: 'tool_confirms', expires_at: '2027-01-01T00:00:00Z', ...more }, { message_id: 'MA', block_id: 'B1' })

/** A card that waits for the user; `written` is its input as the model wrote it. */
async function waiting(more: object = {}, props: Partial<ChatTrayProps> = {}, answer: (call: Call) => Response | undefined = () => json({ run_id: 'r' }), key = '', written = '') {
  const { response, send } = live('r')
  const shown = show((call) => (call.path.includes('/approvals/') || call.path.includes('/cancel') ? answer(call) : call.method === 'POST' ? response : undefined), props, key)
  await shown.user.type(input(), 'x{Enter}')
  act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }), frame('tool_call', { id: 't1', name: 'remove_order', arguments: written }, { message_id: 'MC', block_id: 'B1', delta: true }), ask(more)]))
  return { ...shown, send, card: await screen.findByRole('group', { name: 'May I do this?' }) }
}
const answers = (calls: Call[]) => calls.filter((c) => c.path.includes('/approvals/')).map((c) => c.body)

describe('an approval', () => {
  it('is one card with words about the tool and its input as fields', async () => {
    const { card, container } = await waiting()
    expect(within(card).getByText('Remove an order')).toBeTruthy()
    expect(within(card).getByText('Removes an order.')).toBeTruthy()
    expect(within(card).getByLabelText<HTMLInputElement>('Order id').value).toBe('7')
    expect(within(card).getByLabelText<HTMLInputElement>('Sure').checked).toBe(true)
    expect(card.textContent).not.toContain('remove_order')
    // The card's name says it already.
    expect(within(card).getByText('May I do this?').closest('[aria-hidden]')).toBeTruthy()
    expect(container.querySelector('.ct-tool')).toBeNull()
  })

  it('names the server that a tool comes from', async () => {
    const { card } = await waiting({ name: 'evil__my_bank__read_page', title: '', description: 'Reads a page.' })
    expect(within(card).getByText('evil: Read page')).toBeTruthy()
  })

  it('is announced, and so is the next one of the same tool', async () => {
    const { send } = await waiting()
    const said = () => screen.getAllByRole('status')[0]!.textContent!
    await waitFor(() => expect(said()).toBe('Waiting for your approval: Remove an order…'))
    act(() => send([ask({ approved: true }), frame('approval', { ...ask().props, approval_id: 'ap2', id: 't2' }, { message_id: 'MB', block_id: 'B1' })]))
    await waitFor(() => expect(said()).toBe('Waiting for your approval: Remove an order…\u00a0'))
  })

  it('sends no input when nothing was changed, and the whole of it when something was', async () => {
    const first = await waiting()
    await first.user.click(within(first.card).getByRole('button', { name: 'Approve' }))
    expect(answers(first.calls)).toEqual([{ approved: true }])
    first.unmount()
    const { card, user, calls } = await waiting()
    fireEvent.change(within(card).getByLabelText('Order id'), { target: { value: '8' } })
    await user.click(within(card).getByLabelText('Sure'))
    fireEvent.change(within(card).getByLabelText('Tags'), { target: { value: '["b"]' } })
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect(answers(calls)).toEqual([{ approved: true, input: { order_id: 8, note: 'x', sure: false, tags: ['b'] } }])
  })

  it('shows a large input in part, and sends it whole', async () => {
    const text = 'word '.repeat(8_000)
    const input = Object.fromEntries([['text', text], ...Array.from({ length: 199 }, (_, i) => [`field_${i}`, i])])
    const { card, user, calls } = await waiting({ input })
    const field = within(card).getByLabelText<HTMLTextAreaElement>(/^Text/)
    expect(field.value).toHaveLength(20_000)
    expect(field.readOnly).toBe(true)
    expect(card.querySelectorAll('.ct-field')).toHaveLength(30)
    fireEvent.change(within(card).getByLabelText('Field 3'), { target: { value: '33' } })
    await user.click(within(card).getByRole('button', { name: 'Show more' }))
    expect(field.value).toBe(text)
    expect(field.readOnly).toBe(false)
    await user.click(within(card).getByRole('button', { name: 'Show more (170)' }))
    expect(card.querySelectorAll('.ct-field')).toHaveLength(200)
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect(answers(calls)).toEqual([{ approved: true, input: { ...input, field_3: 33 } }])
  })

  it('cannot be changed where a browser has rounded a number, and is approved as it is', async () => {
    const { card, user, calls } = await waiting({ input: { account: JSON.parse('9007199254740993') as number, note: 'x' } })
    expect(within(card).getByRole('group', { name: 'Its input' }).matches(':disabled')).toBe(true)
    expect(within(card).getByRole('alert').textContent).toMatch(/round a number/)
    await user.click(within(card).getByRole('button', { name: 'Approve' }))
    expect(answers(calls)).toEqual([{ approved: true }])
  })

  it('shows the digits that the model has written where a browser has rounded a number', async () => {
    const written = '{"account": 9007199254740993, "note": "9007199254740993", "items": [{"id": -9007199254740995}], "part": 0.30000000000000004, "code": "a = \\"\\\\u0000b\\"", "far": 12345678901234567890.50e-1}'
    const { card } = await waiting({ input: JSON.parse(written) as object }, {}, undefined, '', written)
    const shown = (label: string) => within(card).getByLabelText<HTMLInputElement>(new RegExp(`^${label}`)).value
    expect(['Account', 'Note', 'Part', 'Code', 'Far'].map(shown)).toEqual(['9007199254740993', '9007199254740993', '0.30000000000000004', 'a = "\\u0000b"', '12345678901234567890.50e-1'])
    expect(shown('Items')).toContain('"id": -9007199254740995\n')
    expect(within(card).getByRole('group', { name: 'Its input' }).matches(':disabled')).toBe(true)
  })

  it('refuses a number that a browser would round', async () => {
    const { card } = await waiting()
    for (const [label, value] of [['Order id', '9007199254740993'], ['Tags', '[9007199254740993]']]) {
      fireEvent.change(within(card).getByLabelText(new RegExp(`^${label}`)), { target: { value } })
      expect(within(card).getByRole('alert').textContent).toMatch(/round a number/)
      expect(within(card).getByRole<HTMLButtonElement>('button', { name: 'Approve with changes' }).disabled).toBe(true)
      fireEvent.change(within(card).getByLabelText(new RegExp(`^${label}`)), { target: { value: '1' } })
      expect(within(card).queryByRole('alert')).toBe(null)
    }
  })

  it('shows and sends fields as they are, whatever the model calls them', async () => {
    const { card, user, calls } = await waiting({ input: { constructor: 'x', toString: 7, prototype: { a: 1 }, valueOf: true } })
    expect(['Constructor', 'To string', 'Prototype'].map((label) => within(card).getByLabelText<HTMLInputElement>(label).value)).toEqual(['x', '7', '{\n  "a": 1\n}'])
    fireEvent.change(within(card).getByLabelText('To string'), { target: { value: '8' } })
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect(JSON.stringify(answers(calls))).toBe('[{"approved":true,"input":{"constructor":"x","toString":8,"prototype":{"a":1},"valueOf":true}}]')
  })

  it('keeps the only field of an input, also one without a name', async () => {
    const { card, user, calls } = await waiting({ input: { '': 'x' } })
    fireEvent.change(within(card).getByLabelText('Its input', { selector: 'input' }), { target: { value: 'y' } })
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect(answers(calls)).toEqual([{ approved: true, input: { '': 'y' } }])
  })

  it('escapes characters that are invisible or change the order of others', async () => {
    const input = { to: 'ann\u202e4321', host: 'exam\u200bple.com', tags: ['a\u2066b', '\u{e0041}'], line: 'a\rb', name: '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩‍💻 ❤️', text: 'a\r\nb\tc' }
    const { card, user, calls } = await waiting({ input })
    const shown = (label: string) => within(card).getByLabelText<HTMLInputElement>(label).value
    expect(['To', 'Host', 'Line'].map(shown)).toEqual(['"ann\\u202e4321"', '"exam\\u200bple.com"', '"a\\rb"'])
    expect(JSON.parse(shown('Tags'))).toEqual(input.tags)
    expect(shown('Tags')).toContain('"a\\u2066b",\n  "\\udb40\\udc41"')
    expect([shown('Name'), shown('Text')]).toEqual([input.name, input.text])
    fireEvent.change(within(card).getByLabelText('To'), { target: { value: '"ann\\u202e432"' } })
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect(answers(calls)).toEqual([{ approved: true, input: { ...input, to: 'ann\u202e432' } }])
  })

  it('keeps what was changed while the tray shows something else, until it is answered', async () => {
    const { card, user, calls } = await waiting()
    fireEvent.change(within(card).getByLabelText('Note'), { target: { value: 'changed' } })
    await user.click(screen.getByRole('button', { name: 'Close the chat' }))
    await user.click(screen.getByRole('button', { name: /^Open the chat/ }))
    const again = await screen.findByRole('group', { name: 'May I do this?' })
    expect(within(again).getByLabelText<HTMLInputElement>('Note').value).toBe('changed')
    await user.click(within(again).getByRole('button', { name: 'Approve with changes' }))
    expect(answers(calls)).toEqual([{ approved: true, input: { order_id: 7, note: 'changed', sure: true, tags: ['a'] } }])
  })

  it('refuses a value of another type', async () => {
    const { card } = await waiting()
    for (const [label, value] of [['Order id', 'seven'], ['Tags', '[']]) {
      fireEvent.change(within(card).getByLabelText(label!), { target: { value } })
      expect(within(card).getByRole('button', { name: 'Approve with changes' }).hasAttribute('disabled')).toBe(true)
      fireEvent.change(within(card).getByLabelText(new RegExp(`^${label}`)), { target: { value: '1' } })
    }
  })

  it('keeps the typed text when the service refuses it', async () => {
    const { card, user } = await waiting({}, {}, () => json({ detail: 'order_id does not fit', code: 'invalid' }, 422))
    fireEvent.change(within(card).getByLabelText('Order id'), { target: { value: '-1' } })
    await user.click(within(card).getByRole('button', { name: 'Approve with changes' }))
    expect((await within(card).findByRole('alert')).textContent).toContain('order_id does not fit')
    expect(within(card).getByLabelText<HTMLInputElement>('Order id').value).toBe('-1')
  })

  it('that could not be sent may be given again once the connection is back', async () => {
    const { response, send } = live('r')
    const again = live('r')
    const { user } = show(({ method, path }) => {
      if (path.includes('/approvals/')) throw new TypeError('offline')
      return path.includes('/runs/r/stream') ? again.response : method === 'POST' ? response : undefined
    })
    await user.type(input(), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }), ask()]))
    const card = await screen.findByRole('group', { name: 'May I do this?' })
    await user.click(within(card).getByRole('button', { name: 'Approve' }))
    await within(card).findByRole('alert')
    act(() => send([], true))
    await waitFor(() => expect(within(card).queryByRole('alert')).toBeNull())
  })

  it('that was refused says why, also once a lost connection is back', async () => {
    const { response, send } = live('r')
    const again = live('r')
    const { user } = show(({ method, path }) => {
      if (path.includes('/approvals/')) return json({ detail: 'order_id is too large', code: 'validation' }, 400)
      return path.includes('/runs/r/stream') ? again.response : method === 'POST' ? response : undefined
    })
    await user.type(input(), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }), ask()]))
    const card = await screen.findByRole('group', { name: 'May I do this?' })
    await user.click(within(card).getByRole('button', { name: 'Approve' }))
    await within(card).findByRole('alert')
    act(() => send([], true))
    act(() => again.send([frame('approval', { ...ask().props, approval_id: 'ap2', id: 't2' }, { message_id: 'MB', block_id: 'B1' })]))
    await waitFor(() => expect(screen.getAllByRole('group', { name: 'May I do this?' })).toHaveLength(2))
    expect(within(card).getByRole('alert').textContent).toBe('order_id is too large')
  })

  it('may be given for the whole chat if the tool always asks, and only then', async () => {
    const seen = await waiting({ reason: 'after_untrusted' })
    expect(within(seen.card).queryByLabelText('Always allow this in this chat')).toBeNull()
    seen.unmount()
    const { card, user, calls, send } = await waiting()
    await user.click(within(card).getByLabelText('Always allow this in this chat'))
    await user.click(within(card).getByRole('button', { name: 'Approve' }))
    act(() => send([ask({ approval_id: 'ap2', id: 't2' })]))
    await waitFor(() => expect(calls.filter((c) => c.path.endsWith('/approvals/ap2'))).toHaveLength(1))
    act(() => send([ask({ approval_id: 'ap3', id: 't3', reason: 'unseen_url' }), ask({ approval_id: 'ap4', id: 't4', name: 'other' })]))
    await waitFor(() => expect(screen.getAllByRole('group', { name: 'May I do this?' }).length).toBeGreaterThan(0))
    expect(calls.filter((c) => /ap[34]$/.test(c.path))).toHaveLength(0)
  })

  it('is neither denied nor cancelled by Escape', async () => {
    const { card, user, calls } = await waiting()
    await user.type(input(), '{Escape}')
    within(card).getByLabelText('Order id').focus()
    await user.keyboard('{Escape}')
    expect(calls.filter((c) => c.path.includes('/approvals/') || c.path.includes('/cancel'))).toEqual([])
  })

  it('is shown on the launcher of a closed tray', async () => {
    const { user } = await waiting({}, { layout: 'tray', defaultOpen: true })
    await user.click(screen.getByRole('button', { name: 'Close the chat' }))
    expect(screen.getByRole('button', { name: 'Open the chat. The assistant needs you.' }).getAttribute('data-state')).toBe('waits')
  })

  it('can be answered by a hook', async () => {
    function Mine() {
      const { approval, approve } = useApproval()
      return approval ? <div role="group" aria-label="May I do this?"><button onClick={() => void approve({ input: { order_id: 9 } })}>yes to {approval.tool}</button></div> : <i>none</i>
    }
    const { user, calls } = await waiting({}, { components: { Empty: () => null, Approval: () => <Mine /> } })
    await user.click(screen.getByText('yes to remove_order'))
    expect(answers(calls)).toEqual([{ approved: true, input: { order_id: 9 } }])
  })

  it('that was allowed for a chat is not given in another one', () => {
    const store = new ChatStore({ api: fakeApi(() => undefined).api })
    store.approvals.allowAlways(1, 'a')
    expect([store.approvals.isAllowed(1, 'a'), store.approvals.isAllowed(1, 'b'), store.approvals.isAllowed(2, 'a')]).toEqual([true, false, false])
  })
})
