import type { ChatApi } from '../../api/client'
import { emptyRun, reduceRun, type RunView } from '../values/run'
import type { GeneralChatMessage } from '../values/state'
import { showsMore } from '../values/view'

/** How many frames of a stored run are read for its reasoning and threads. */
const MAX_FRAMES = 20_000

/** Replays the runs of loaded answers, one at a time and each once. */
export class RunReplays {
  private readonly api: ChatApi
  private readonly found: (messageId: string, view: RunView) => void
  private line = Promise.resolve()
  private left = new AbortController()
  private readonly asked = new Set<string>()

  /** `found` is called with each run that has more to show than the stored message. */
  constructor(api: ChatApi, found: (messageId: string, view: RunView) => void) {
    this.api = api
    this.found = found
  }

  recall(message: GeneralChatMessage): void {
    if (!message.run_id || message.view || this.asked.has(message.id)) return
    this.asked.add(message.id)
    const { signal } = this.left
    this.line = this.line.then(() => (signal.aborted ? undefined : this.read(message, message.run_id!, signal))).catch(() => undefined)
  }

  /** Cancels all replays. */
  leave(): void {
    this.left.abort()
    this.left = new AbortController()
    this.asked.clear()
  }

  private async read(message: GeneralChatMessage, runId: string, left: AbortSignal): Promise<void> {
    // Without tools reasoning comes only before the text, so that a long answer need not be read.
    const plain = !message.tool_history?.length
    let run = emptyRun
    let frames = 0
    for await (const { data } of this.api.followRun(runId, left)) {
      run = reduceRun(run, data)
      if (++frames > MAX_FRAMES || (plain && data.type === 'text' && !showsMore(run))) return
    }
    if (!left.aborted && run.outcome && showsMore(run)) this.found(message.id, run)
  }
}
