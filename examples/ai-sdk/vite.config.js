import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The service is another process; in production a proxy does what this one does.
const service = process.env.SERVICE_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react()],
  resolve: { dedupe: ['react', 'react-dom'] },
  server: { port: Number(process.env.PORT ?? 5173), proxy: { '/api': service } },
  preview: { proxy: { '/api': service } },
})
