// Serves the page and the package's standalone files, and forwards /api to the service, as a web server in front of both would.
import { createReadStream, existsSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const service = new URL(process.env.SERVICE_URL ?? 'http://127.0.0.1:8080')
// As strict as the policy of the service's own page: nothing inline, nothing from other hosts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' }

const server = createServer((asked, answer) => {
  const path = normalize(decodeURIComponent(new URL(asked.url, 'http://page').pathname))
  if (path.startsWith('/api/')) {
    const onward = request(new URL(asked.url, service), { method: asked.method, headers: { ...asked.headers, host: service.host } }, (given) => {
      answer.writeHead(given.statusCode, given.headers)
      given.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    answer.on('close', () => onward.destroy())
    asked.pipe(onward)
    return
  }
  const file = path.startsWith('/chattray/') ? join(here, 'node_modules/@chattray/react/lib/standalone', path.slice('/chattray'.length)) : join(here, path === '/' ? 'index.html' : path)
  if (!existsSync(file) || !types[extname(file)]) return answer.writeHead(404).end()
  answer.writeHead(200, { 'Content-Type': types[extname(file)], 'Content-Security-Policy': policy })
  createReadStream(file).pipe(answer)
})
server.listen(Number(process.env.PORT ?? 5173), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
