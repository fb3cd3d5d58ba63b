import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The service is another process; in production a proxy does what this one does.
const service = process.env.SERVICE_URL ?? 'http://127.0.0.1:8080'
const page = process.env.VITE_PAGE ?? 'reports'

process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true'

// CopilotKit's own runtime, for pages that need it: its agent is the service. It stops a run
// by closing its connection to the service.
const agent = new HttpAgent({ url: `${service}/api/agui?on_disconnect=cancel&page=${page}` })
const runtime = createCopilotNodeListener({
  runtime: new CopilotRuntime({ agents: { default: agent, [page]: agent } }),
  basePath: '/runtime',
})
const serve = ({ middlewares }) => {
  middlewares.use((request, response, next) => (request.url.startsWith('/runtime') ? runtime(request, response) : next()))
}

export default defineConfig({
  plugins: [react(), { name: 'runtime', configureServer: serve, configurePreviewServer: serve }],
  resolve: { dedupe: ['react', 'react-dom'] },
  server: { port: Number(process.env.PORT ?? 5173), proxy: { '/api': service } },
  preview: { proxy: { '/api': service } },
})
