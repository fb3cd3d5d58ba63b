import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import type { ReactNode } from 'react'
import { createPortal } from 'react-dom'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { useChatStore, type ChatStore, type PayloadHandlers } from '../src'
import { answerFrames, json, sse, type Call } from './fakes'
import { chat, message, posts, settled, show, slow } from './shown'

const proposal = { payload_id: 'p1', type: 'schema_proposal', data: { a: 1 }, summary: 'A proposal' }
const apply = { label: 'Apply changes', action: 'apply_schema', handler: 'server', data: { stream_id: 1 }, payload_id: 'p1' }

/** A card with buttons of its own. */
function SchemaProposalCard({ onAccept, onReject }: { proposal: unknown; onAccept: () => void; onReject: () => void }) {
  return <p><button onClick={() => onAccept()}>Take it</button><button onClick={() => onReject()}>Leave it</button></p>
}

function ask(payloadHandlers: PayloadHandlers, actions: object[] = []) {
  let asked = 0
  return show(({ method, path }) => {
    if (path.includes('/resolve')) return json({ ...proposal, outcome: 'accepted' })
    if (method !== 'POST') return undefined
    return sse(++asked > 1 ? answerFrames('Done.') : answerFrames('x', { payloads: [proposal], custom_payload: proposal, suggested_actions: actions }))
  }, { payloadHandlers })
}

describe.each(['render', 'inline'] as const)('a payload in %s', (place) => {
  it('has one pair of buttons where its card has its own', async () => {
    const setSchema = vi.fn()
    const { user, container } = ask({
      schema_proposal: {
        [place]: (data: unknown, callbacks: { onAccept: () => void; onReject: () => void }) => <SchemaProposalCard proposal={data} onAccept={callbacks.onAccept} onReject={callbacks.onReject} />,
        onAccept: (data: unknown) => setSchema(data), onReject: () => undefined,
      },
    })
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await settled()
    expect(await screen.findByRole('button', { name: 'Take it' })).toBeTruthy()
    expect(container.querySelector('.ct-payload-decide')).toBeNull()
    await user.click(screen.getByRole('button', { name: 'Take it' }))
    await screen.findByText('Accepted', { selector: 'em' })
    expect(setSchema).toHaveBeenCalledWith({ a: 1 })
  })

  it('has the service’s buttons where the card has none, or says so', async () => {
    const { user } = ask({ schema_proposal: { [place]: (_: unknown, { onAccept }: { onAccept: () => void }) => <p onClick={() => onAccept()}>card</p>, onAccept: () => undefined, ownButtons: false } })
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await settled()
    expect(await screen.findByRole('button', { name: 'Accept' })).toBeTruthy()
  })
})

it.each([
  ['a dialog of the card', (field: ReactNode) => <dialog open>{field}</dialog>],
  ['a popover of the card', (field: ReactNode) => <div popover="auto">{field}</div>],
  ['a window of the page that the card has opened', (field: ReactNode) => createPortal(field, document.body)],
])('Escape in %s is left to it', async (_, window) => {
  const { user } = ask({ schema_proposal: { render: () => <>{window(<input aria-label="inner" />)}<input aria-label="outer" /></>, onAccept: () => undefined } })
  await user.type(screen.getByLabelText('Message'), 'x{Enter}')
  // The event was not taken.
  expect(fireEvent.keyDown(await screen.findByLabelText('inner'), { key: 'Escape' })).toBe(true)
  expect(fireEvent.keyDown(screen.getByLabelText('outer'), { key: 'Escape' })).toBe(false)
  expect(screen.queryByLabelText('outer')).toBeNull()
})

describe('an action that accepts a payload', () => {
  it('has no button beside those of the payload', async () => {
    const { user } = ask({ schema_proposal: { render: () => <p>card</p>, onAccept: () => undefined } }, [apply])
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await settled()
    expect(await screen.findByRole('button', { name: 'Accept' })).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
  })

  it('names the payload, which is accepted once it is done', async () => {
    const { user, calls } = ask({}, [apply])
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await settled()
    await user.click(await screen.findByRole('button', { name: 'Apply changes' }))
    await waitFor(() => expect(posts(calls)).toHaveLength(2))
    expect(posts(calls)[1]).toMatchObject({ interaction_type: 'action_executed', action_metadata: { action_identifier: 'apply_schema', action_data: { stream_id: 1 }, payload_id: 'p1' } })
    await screen.findByText('Accepted', { selector: 'em' })
    expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
  })
})

describe('a decision whose handler takes its time', () => {
  /** A tray with an answered proposal in chat 7, which was accepted but whose handler has not ended. */
  async function deciding() {
    const { response: ended, go } = slow()
    const onAccept = vi.fn(async () => void (await ended))
    const kept = (outcome?: string) => chat([message('a', 'assistant', 'x', { payloads: [{ ...proposal, outcome }] })])
    sessionStorage.setItem('chattray:k:conversation', '7')
    let store!: ChatStore
    const Take = () => void (store = useChatStore())
    let outcome: string | undefined
    const shown = show(({ path }) => {
      if (path.includes('/resolve')) return (outcome = 'accepted'), json({ ...proposal, outcome })
      return path.startsWith('/api/chats/7?') ? kept(outcome) : path.startsWith('/api/chats/8?') ? chat([message('b', 'assistant', 'Eight.')], { conversation_id: 8 }) : undefined
    }, { payloadHandlers: { schema_proposal: { inline: () => <p>card</p>, onAccept } }, components: { Header: Take } }, 'k')
    await shown.user.click(await screen.findByRole('button', { name: 'Accept' }))
    expect(onAccept).toHaveBeenCalledTimes(1)
    return { ...shown, onAccept, end: () => act(async () => go(json({}))), store: () => store }
  }
  const resolved = (calls: Call[]) => calls.filter((c) => c.path.includes('/resolve')).map((c) => c.path)

  it.each([['a new one', (store: ChatStore) => store.newChat()], ['another one', (store: ChatStore) => store.open(8)]])('is stored in its chat, also if %s is open by then', async (_, leave) => {
    const { calls, end, store } = await deciding()
    await act(async () => void (await leave(store())))
    await end()
    expect(resolved(calls)).toEqual(['/api/chats/7/payloads/p1/resolve'])
    await act(() => store().open(7))
    await screen.findByText('Accepted', { selector: 'em' })
  })

  it('is not made twice, though its chat was left and opened again', async () => {
    const { user, calls, onAccept, end, store } = await deciding()
    await act(() => store().open(8))
    await act(() => store().open(7))
    const again = await screen.findByRole<HTMLButtonElement>('button', { name: 'Accept' })
    expect(again.disabled).toBe(true)
    await user.click(again)
    await end()
    await screen.findByText('Accepted', { selector: 'em' })
    expect([onAccept.mock.calls.length, resolved(calls).length]).toEqual([1, 1])
  })
})

describe('a payload that another tab has', () => {
  const kept = (outcome?: string) => chat([message('a', 'assistant', 'x', { payloads: [{ ...proposal, outcome }] })])

  it.each([['with locks', true], ['without locks', false]])('accepted is not carried out again, %s', async (_, locks) => {
    const held = new Map<string, Promise<unknown>>()
    vi.stubGlobal('navigator', { ...navigator, locks: locks ? { request: (name: string, _: object, act: () => Promise<void>) => {
      const mine = (held.get(name) ?? Promise.resolve()).then(act)
      held.set(name, mine)
      return mine
    } } : undefined })
    onTestFinished(() => void vi.unstubAllGlobals())
    const { response: ended, go } = slow()
    const [onAccept, other] = [vi.fn(async () => void (await ended)), vi.fn()]
    let outcome: string | undefined
    // With other keys, which may be on another device, they do not tell each other.
    const tab = (key: string, accept: () => unknown) => {
      sessionStorage.setItem(`chattray:${key}:conversation`, '7')
      const tray = show(({ method, path }) => {
        if (path.includes('/resolve')) return (outcome = 'accepted'), json({ ...proposal, outcome })
        if (path.endsWith('/payloads/p1')) return json({ ...proposal, outcome })
        return method === 'GET' && path.startsWith('/api/chats/7?') ? kept() : undefined
      }, { payloadHandlers: { schema_proposal: { inline: () => <p>card</p>, onAccept: accept } } }, key)
      return { ...tray, ui: within(tray.container) }
    }
    const [one, two] = [tab('one', onAccept), tab('two', other)]
    const buttons = await Promise.all([one, two].map(({ ui }) => ui.findByRole('button', { name: 'Accept' })))
    await one.user.click(buttons[0]!)
    await waitFor(() => expect(onAccept).toHaveBeenCalledTimes(1))
    // Without locks the service is asked once the first tab is done.
    if (locks) await two.user.click(buttons[1]!)
    await act(async () => go(json({})))
    await one.ui.findByText('Accepted', { selector: 'em' })
    if (!locks) await two.user.click(buttons[1]!)
    await two.ui.findByText('Accepted', { selector: 'em' })
    expect(other).not.toHaveBeenCalled()
  })

  it('rejected is not accepted: the decision is shown, and why', async () => {
    const onAccept = vi.fn()
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user } = show(({ path }) => {
      if (path.includes('/resolve')) return json({ detail: 'this has been rejected already', code: 'conflict', status: 409 }, 409)
      return path.endsWith('/payloads/p1') ? json({ ...proposal, outcome: 'rejected' }) : path.startsWith('/api/chats/7?') ? kept() : undefined
    }, { payloadHandlers: { schema_proposal: { inline: () => <p>card</p>, onAccept } } }, 'k')
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    await screen.findByText('Rejected', { selector: 'em' })
    await screen.findByText('this has been rejected already')
    expect(onAccept).not.toHaveBeenCalled()
  })

  it('decided on another device, is shown as decided once the page and the payload are seen again', async () => {
    const views: { reach: () => void }[] = []
    vi.stubGlobal('IntersectionObserver', class {
      constructor(found: (entries: object[]) => void) {
        views.push({ reach: () => found([{ isIntersecting: true }]) })
      }

      observe() {}
      disconnect() {}
    })
    onTestFinished(() => void vi.unstubAllGlobals())
    let outcome: string | undefined
    sessionStorage.setItem('chattray:k:conversation', '7')
    const far = { ...proposal, payload_id: 'p2', summary: 'Far' }
    const { calls, user } = show(({ path }) => {
      if (path.endsWith('/payloads/p1')) return json({ ...proposal, outcome })
      if (path.endsWith('/payloads/p2')) return json({ ...far, outcome })
      return path.startsWith('/api/chats/7?') ? chat([message('a', 'assistant', 'x', { payloads: [proposal, far] })]) : undefined
    }, { payloadHandlers: { schema_proposal: { render: () => <p>card</p>, onAccept: () => undefined } }, openPayloads: 'none' }, 'k')
    const asked = () => calls.flatMap(({ path }) => path.split('/payloads/')[1] ?? [])
    const see = () => act(() => void document.dispatchEvent(new Event('visibilitychange')))
    await screen.findByText('A proposal')
    views.length = 0
    see()
    expect([views.length, asked()]).toEqual([2, []])
    act(() => views[0]!.reach())
    await waitFor(() => expect(asked()).toEqual(['p1']))
    await user.click(screen.getByText('A proposal'))
    await screen.findByRole('button', { name: 'Accept' })
    outcome = 'rejected'
    // What the panel shows is in sight.
    see()
    await screen.findByText('Rejected', { selector: 'em' })
    expect(screen.queryByRole('button', { name: 'Accept' })).toBeNull()
    see()
    expect(asked()).toEqual(['p1', 'p1'])
    act(() => views.at(-1)!.reach())
    await waitFor(() => expect(screen.getAllByText('Rejected', { selector: 'em' })).toHaveLength(2))
    expect(asked()).toEqual(['p1', 'p1', 'p2'])
  })

  it('accepted, which was carried out but not stored, is only stored after a reload', async () => {
    const onAccept = vi.fn()
    let outcome: string | undefined, away = true
    const open = () => {
      sessionStorage.setItem('chattray:k:conversation', '7')
      return show(({ path }) => {
        if (path.includes('/resolve')) return away ? json({ detail: 'not today', code: 'unavailable', status: 503 }, 503) : json({ ...proposal, outcome: (outcome = 'accepted') })
        return path.endsWith('/payloads/p1') ? json({ ...proposal, outcome }) : path.startsWith('/api/chats/7?') ? kept() : undefined
      }, { payloadHandlers: { schema_proposal: { inline: () => <p>card</p>, onAccept } } }, 'k')
    }
    const { user, unmount } = open()
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    await screen.findByText('not today')
    unmount()
    away = false
    open()
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    await screen.findByText('Accepted', { selector: 'em' })
    expect([onAccept.mock.calls.length, outcome, Object.keys(localStorage).filter((key) => key.includes('p1'))]).toEqual([1, 'accepted', []])
  })

  it('rejected, after it was carried out here but not stored, is shown as rejected', async () => {
    const onAccept = vi.fn()
    let outcome: string | undefined
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user } = show(({ path }) => {
      if (path.includes('/resolve')) return outcome ? json({ detail: 'this has been rejected already', code: 'conflict', status: 409 }, 409) : json({ detail: 'not today', code: 'unavailable', status: 503 }, 503)
      return path.endsWith('/payloads/p1') ? json({ ...proposal, outcome }) : path.startsWith('/api/chats/7?') ? kept() : undefined
    }, { payloadHandlers: { schema_proposal: { inline: () => <p>card</p>, onAccept } } }, 'k')
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    await screen.findByText('not today')
    outcome = 'rejected'
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await screen.findByText('Rejected', { selector: 'em' })
    expect(onAccept).toHaveBeenCalledTimes(1)
  })
})
