import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../src/styles'
import { registerBundledPayloads } from '../src/research'
import { App } from './App'

registerBundledPayloads()
createRoot(document.getElementById('app')!).render(<StrictMode><App /></StrictMode>)
