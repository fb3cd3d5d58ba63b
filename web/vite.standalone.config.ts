import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Builds lib/standalone: the tray with all dependencies including React, for pages without a build.
export default defineConfig({
  plugins: [react()],
  publicDir: false,
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: 'lib/standalone',
    emptyOutDir: true,
    target: 'es2022',
    minify: true,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    lib: { entry: { chattray: 'src/standalone.tsx' }, formats: ['es'], cssFileName: 'chattray' },
    rolldownOptions: { output: { entryFileNames: '[name].js', chunkFileNames: 'chattray-[name]-[hash].js' } },
  },
})
