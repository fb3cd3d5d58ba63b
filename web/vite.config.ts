import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

// Builds the page that the service embeds, and runs the unit tests.
export default defineConfig({
  root: 'page',
  base: '/',
  publicDir: 'public',
  plugins: [react()],
  resolve: { dedupe: ['react', 'react-dom'] },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
  test: {
    root: '.',
    environment: 'happy-dom',
    include: [process.env.REACT_MAJOR ? 'test/**/*.test.tsx' : 'test/**/*.test.{ts,tsx}'], // without TSX nothing is rendered, on React 18 as on 19
    setupFiles: ['test/setup.ts'],
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    restoreMocks: true,
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
