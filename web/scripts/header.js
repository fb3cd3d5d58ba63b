// Puts a first line on the generated types that says where they come from.
import { readFileSync, writeFileSync } from 'node:fs'

const path = new URL('../src/api/openapi.ts', import.meta.url)
const text = readFileSync(path, 'utf8').replace(/^\/\*\*[\s\S]*?\*\/\s*/, '')
writeFileSync(path, `// Generated from openapi.yaml by "npm run generate"; do not edit.\n\n${text}`)
