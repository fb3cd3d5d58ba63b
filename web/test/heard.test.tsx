import { act, render, screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { block } from './blocks'
import { answerFrames, event, fakeApi, frame, json, sse } from './fakes'
import { input, live, show } from './shown'

const said = () => screen.getAllByRole('status')[0]!.textContent!

/** A tray whose answer is being written. */
async function writing() {
  const { response, send } = live('r')
  const shown = show(({ method }) => (method === 'POST' ? response : undefined))
  await shown.user.type(input(), 'x{Enter}')
  act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'llm' })]))
  return { ...shown, send }
}

describe('a user who listens hears', () => {
  it('where the focus is when the tray opens: the button is removed after the focus has moved', async () => {
    const { user } = show(() => undefined, { layout: 'tray' })
    const launcher = screen.getByRole('button', { name: 'Open the chat' })
    let there: boolean | undefined
    document.addEventListener('focusin', ({ target }) => target instanceof HTMLTextAreaElement && (there = launcher.isConnected))
    await user.click(launcher)
    expect(there).toBe(true)
    expect(document.activeElement).toBe(input())
    expect(launcher.isConnected).toBe(false)
  })
})
