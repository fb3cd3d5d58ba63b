import type { ChatApi } from '../../api/client'
import { ApiError } from '../../api/errors'
import { pause, waitAfter } from '../../api/stream'
import type { ClientToolSpec, Props } from '../../api/types'
import { keepList, keptList } from '../kept'
import { issueWords, type OutputOf, type StandardSchema } from '../../payloads/standardSchema'

/** Limits of the tools that a page runs. */
export const CLIENT_TOOL_LIMITS = {
  /** How long a page may take to register the tool of a call, in milliseconds. */
  absent: 3_000,
  /** Characters of an error that the model reads. */
  error: 2_000,
  /** Times that the service is asked again while it is away, and the waits between, in milliseconds. */
  attempts: 12,
  firstWait: 250,
  longestWait: 10_000,
  /** How many answered calls the browser stores. */
  remembered: 64,
}

/** What a handler knows about its call. */
export interface ClientToolCall {
  runId: string
  toolUseId: string
  /** Aborted when the outcome is no longer wanted: the run has ended, or another chat was opened. */
  signal: AbortSignal
}

/** A tool that the page runs for the model. */
export interface ClientTool<I = unknown> extends Omit<ClientToolSpec, 'input_schema'> {
  /** A JSON schema of type object; by default that of `schema`, if its library can produce it (Standard JSON Schema). */
  input_schema?: ClientToolSpec['input_schema'] | undefined
  /** Checks the arguments in the page too, and determines the handler's argument. */
  schema?: StandardSchema<unknown, I> | undefined
  /** Returns the result: any JSON; the model reads a string as it is. The model reads a thrown error as an error. */
  handler(input: I, call: ClientToolCall): unknown
}

/** A tool whose schema says what its handler gets. */
export type SchemaTool<S extends StandardSchema> = Omit<ClientTool<OutputOf<S>>, 'schema'> & { schema: S }

/** What a request says about a tool. */
export function specOf({ name, description, input_schema, schema }: ClientTool): ClientToolSpec {
  return { name, description, input_schema: input_schema ?? schema?.['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) ?? { type: 'object' } }
}

interface Call {
  runId: string
  id: string
  name: string
  input: unknown
}

interface Outcome {
  output: unknown
  is_error?: true
}

/**
 * Runs the page's tools. A call is answered once: it is taken under a lock that all tabs share, and only while the run
 * still waits for it. A page that is left before its answer leaves the call open, for the next one.
 */
export class ClientTools {
  private readonly api: ChatApi
  /** Where the answered calls are kept. */
  private readonly key: string
  private readonly done?: () => void
  private readonly tools = new Set<ClientTool>()
  /** What waits for a tool looks again when one is registered. */
  private readonly looking = new Set<() => void>()
  private readonly calls = new Map<string, AbortController>()

  /** The name tells this browser's chats apart; without one nothing is remembered. `done` is called when the service has a result. */
  constructor(api: ChatApi, name: string, done?: () => void) {
    this.api = api
    this.done = done
    this.key = name && `chattray:${name}:answered`
  }

  /** Offers a tool from the next message on, until the function returned is called. Of several with one name the last one counts. It throws if the tool has no JSON schema. */
  register(tool: ClientTool): () => void {
    // One that cannot be sent is refused: it would keep every message from being sent.
    JSON.stringify(specOf(tool))
    this.tools.add(tool)
    for (const look of this.looking) look()
    return () => void this.tools.delete(tool)
  }

  /** What a request says about the tools. */
  specs(): ClientToolSpec[] {
    return [...new Map([...this.tools].map((tool) => [tool.name, specOf(tool)])).values()]
  }

  /** Runs a call that the service asks for, also if it asked for it before. */
  take(runId: string, props: Props): void {
    const { id, name, input } = props
    if (typeof id !== 'string' || typeof name !== 'string' || this.calls.has(keyOf(runId, id))) return
    const leave = new AbortController()
    this.calls.set(keyOf(runId, id), leave)
    void this.run({ runId, id, name, input }, leave.signal).catch((error: unknown) => leave.signal.aborted || console.error(error))
  }

  /** Aborts a call that has its result. */
  drop(runId: string, id: string): void {
    this.calls.get(keyOf(runId, id))?.abort()
  }

  /** Aborts all calls; they run again when their run is followed again. */
  leave(): void {
    for (const call of this.calls.values()) call.abort()
    this.calls.clear()
  }

  private async run(call: Call, signal: AbortSignal): Promise<void> {
    if (!this.named(call.name)) await this.registered(call.name, signal)
    await locked(`chattray:tool:${keyOf(call.runId, call.id)}`, signal, async () => {
      if (signal.aborted || this.isAnswered(call) || !(await this.waits(call, signal))) return
      const outcome = await Promise.race([this.outcomeOf(call, signal), aborted(signal)])
      if (signal.aborted || !outcome) return
      await this.send(call, outcome, signal)
      this.remember(call)
    })
  }

  private async waits(call: Call, signal: AbortSignal): Promise<boolean> {
    const run = await insist(signal, () => this.api.getRun(call.runId))
    return run.state === 'waiting' && !signal.aborted
  }

  private named(name: string): ClientTool | undefined {
    return [...this.tools].findLast((tool) => tool.name === name)
  }

  /** Waits a moment for a tool whose component is not there yet. */
  private registered(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.looking.delete(look)
        resolve()
      }
      const look = () => this.named(name) && end()
      const timer = setTimeout(end, CLIENT_TOOL_LIMITS.absent)
      this.looking.add(look)
      signal.addEventListener('abort', end)
    })
  }

  private async outcomeOf(call: Call, signal: AbortSignal): Promise<Outcome> {
    const tool = this.named(call.name)
    if (!tool) return failed(`The page that is open has no tool ${call.name}.`)
    try {
      const checked = await tool.schema?.['~standard'].validate(call.input)
      if (checked?.issues) return failed(`The arguments do not fit: ${issueWords(checked.issues)}`)
      const output = (await tool.handler(checked ? checked.value : call.input, { runId: call.runId, toolUseId: call.id, signal })) ?? null
      return JSON.stringify(output) === undefined ? failed(`The tool ${call.name} returned a value that is not JSON.`) : { output }
    } catch (error) {
      return failed(error instanceof Error && error.message ? error.message : `The tool ${call.name} failed.`)
    }
  }

  /** Sends a result. If the service refuses it, the model is told; it is no error that the call is over. */
  private async send(call: Call, outcome: Outcome, signal: AbortSignal): Promise<void> {
    try {
      await insist(signal, () => this.api.postToolResult(call.runId, call.id, outcome.output, outcome.is_error))
      this.done?.()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status === 404 || error.status === 409) return
      if (error.retryable || outcome.is_error) throw error
      await this.send(call, failed(`The result could not be sent: ${error.message}`), signal)
    }
  }

  private isAnswered(call: Call): boolean {
    return this.remembered().includes(keyOf(call.runId, call.id))
  }

  /** Without storage only the run's state is checked. */
  private remember(call: Call): void {
    keepList('localStorage', this.key, [...this.remembered(), keyOf(call.runId, call.id)].slice(-CLIENT_TOOL_LIMITS.remembered))
  }

  private remembered(): unknown[] {
    return keptList('localStorage', this.key)
  }
}

const keyOf = (runId: string, id: string) => `${runId}:${id}`

const failed = (message: string): Outcome => ({ output: message.slice(0, CLIENT_TOOL_LIMITS.error), is_error: true })

/** Waits for the signal. A handler that does not end would keep the call from another page. */
const aborted = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

/** Does something while no other tab does it. Pages without TLS and frames without storage have no locks; there the service knows the first outcome. */
export async function locked(name: string, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  let begun: Promise<void> | undefined
  const begin = () => (begun = act())
  await globalThis.navigator?.locks?.request(name, { signal }, begin).catch(() => begun)
  if (!signal.aborted) await (begun ?? begin())
}

/** Tries again while the service cannot be reached. */
async function insist<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ApiError) || !error.retryable || signal.aborted || attempt >= CLIENT_TOOL_LIMITS.attempts) throw error
      await pause(waitAfter(error, attempt + 1, CLIENT_TOOL_LIMITS), signal)
    }
  }
}
