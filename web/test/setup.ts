import { cleanup, configure } from '@testing-library/react'
import { afterEach, expect } from 'vitest'
import { givenTwice } from './fakes'

// The bound is reached only by a wait that hangs, not on a busy machine.
configure({ asyncUtilTimeout: 60_000 })

afterEach(() => {
  cleanup()
  localStorage.clear()
  sessionStorage.clear()
  expect(givenTwice.splice(0), 'calls with the answer of another call').toEqual([])
})

// As in a page with a doctype, which drawing math requires.
Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true })
