import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { answerFrames, json, sse } from './fakes'
import { settled, show } from './shown'

it.each([
  { roles: ['admin'], may: { diagnostics: false }, shown: 0 },
  { roles: [], may: { diagnostics: true }, shown: 1 },
])('the diagnostics of an answer, and the tokens that it took, follow what the service allows, not the roles $roles', async ({ shown, ...me }) => {
  const { user } = show(({ method, path }) => {
    if (path === '/api/me') return json({ user_id: 'u', name: 'u', ...me })
    return method === 'POST' ? sse(answerFrames('Hello.')) : undefined
  })
  await user.type(screen.getByLabelText('Message'), 'x{Enter}')
  await settled()
  await screen.findByRole('button', { name: 'Good answer' })
  expect(screen.queryAllByRole('button', { name: 'Diagnostics' })).toHaveLength(shown)
  expect(screen.queryAllByText('1 tokens in, 2 out')).toHaveLength(shown)
})
