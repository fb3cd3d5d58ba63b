import { cleanup, configure } from '@testing-library/react'
import { afterEach } from 'vitest'

// The bound is reached only by a wait that hangs, not on a busy machine.
configure({ asyncUtilTimeout: 60_000 })

afterEach(() => {
  cleanup()
  localStorage.clear()
  sessionStorage.clear()
})

// As in a page with a doctype, which drawing math requires.
Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true })
