import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Builds the package: one output module for each source module, so that unused ones are dropped, and one file of styles.
export default defineConfig({
  plugins: [react()],
  publicDir: false,
  build: {
    outDir: 'lib',
    emptyOutDir: true,
    target: 'es2022',
    minify: false,
    sourcemap: true,
    cssCodeSplit: false,
    lib: { entry: ['src/index.ts', 'src/documents/index.ts', 'src/research/index.ts', 'src/styles.ts', ...['ar', 'de', 'en', 'es', 'fr', 'zh'].map((name) => `src/labels/${name}.ts`)], formats: ['es'], cssFileName: 'chattray' },
    rolldownOptions: {
      external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('\0'),
      output: {
        preserveModules: true, preserveModulesRoot: 'src', entryFileNames: '[name].js',
        // Tells frameworks that render on a server which modules are for the browser.
        banner: (chunk) => (/\.tsx$|\/use[A-Z]\w*\.ts$/.test(chunk.facadeModuleId ?? '') ? "'use client'" : ''),
      },
    },
  },
})
