import { cleanup } from '@testing-library/react'
import { afterEach } from 'vitest'

afterEach(() => {
  cleanup()
  localStorage.clear()
  sessionStorage.clear()
})

// As in a page with a doctype, which the drawing of math asks for.
Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true })
