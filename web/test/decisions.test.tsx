import { screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import type { PayloadHandlers } from '../src'
import { answerFrames, json, sse } from './fakes'
import { posts, settled, show } from './shown'

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
