// CopilotKit's own runtime in front of the service.
import { createServer } from 'node:http'

import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'

// start returns the URL of a runtime whose agent default is the service. The runtime keeps
// its connection to the service, and closes it to stop a run.
export const start = async (service) => {
  process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true'
  const agent = new HttpAgent({ url: service + '/api/agui?on_disconnect=cancel&page=lab' })
  const server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents: { default: agent } }), basePath: '/api/copilotkit' }))
  await new Promise((listens) => server.listen(0, '127.0.0.1', listens))
  return `http://127.0.0.1:${server.address().port}/api/copilotkit`
}
