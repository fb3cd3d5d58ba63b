import { fireEvent, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it } from 'vitest'
import { ChatProvider, ChatTray } from '../src'
import { fakeApi, json } from './fakes'

type Tray = ReturnType<typeof at>
const at = (name: string) => within(screen.getByTestId(name))

/** Two trays of one conversation; the last one is rendered last. */
let first: Tray, last: Tray

beforeEach(() => {
  const { api } = fakeApi(({ method }) => (method === 'POST' ? json({ detail: 'no', code: 'invalid', status: 422 }, 422) : undefined))
  render(<ChatProvider api={api} storageKey="">{['first', 'last'].map((name) => <div key={name} data-testid={name}><ChatTray layout="sidebar" storageKey={name} /></div>)}</ChatProvider>)
  first = at('first')
  last = at('last')
})

const input = (tray: Tray) => tray.getByLabelText<HTMLTextAreaElement>('Message')

describe('of two trays in one provider', () => {
  it('the one that has sent a message gets it back when it is refused', async () => {
    await userEvent.type(input(last), 'from the last{Enter}')
    await last.findByDisplayValue('from the last')
    expect(input(first).value).toBe('')
  })

  it('the one on which files are dropped takes them', async () => {
    fireEvent.drop(input(first), { dataTransfer: { types: ['Files'], files: [new File(['One.'], 'one.txt', { type: 'text/plain' })] } })
    await first.findByText('one.txt')
    expect(last.queryByText('one.txt')).toBe(null)
  })

  it('the one with the focus is closed by the key that both have, and the first is opened by it', async () => {
    const open = (tray: Tray) => tray.queryByLabelText('Message') !== null
    const user = userEvent.setup()
    await user.click(input(last))
    await user.keyboard('{Control>}/{/Control}')
    expect([open(first), open(last)]).toEqual([true, false])
    await user.click(document.body)
    await user.keyboard('{Control>}/{/Control}')
    expect(document.activeElement).toBe(input(first))
    await user.keyboard('{Control>}/{/Control}')
    expect([open(first), open(last)]).toEqual([false, false])
    await user.keyboard('{Control>}/{/Control}')
    expect([open(first), open(last)]).toEqual([true, false])
  })
})
