import { cleanup, configure } from '@testing-library/react'
import { afterEach } from 'vitest'

// A wait is bounded only for what hangs: a busy machine is never so slow.
configure({ asyncUtilTimeout: 60_000 })

afterEach(() => {
  cleanup()
  localStorage.clear()
  sessionStorage.clear()
})

// As in a page with a doctype, which the drawing of math asks for.
Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true })
