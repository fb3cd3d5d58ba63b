import type { TrayLabels } from '../../labels/tray'
import type { Part, ToolView } from './view'

/** Parts of an answer, with successive calls grouped. */
export type Piece = { kind: 'part'; key: string; part: Part } | { kind: 'trail'; key: string; tools: ToolView[]; parts: Part[] }

/** Groups successive calls into trails, with the reasoning between them. A call that `apart` names stays in its place. */
export function piecesOf(parts: readonly Part[], apart: (tool: string) => boolean = () => false): Piece[] {
  const pieces: Piece[] = []
  for (const part of parts) {
    if (part.kind !== 'tool' || apart(part.tool.name)) {
      pieces.push({ kind: 'part', key: part.key, part })
      continue
    }
    const between: Part[] = []
    while (isThinking(pieces.at(-1)) && pieces.slice(0, -1).some((p) => p.kind === 'trail')) between.unshift((pieces.pop() as Extract<Piece, { kind: 'part' }>).part)
    const last = pieces.at(-1)
    if (last?.kind === 'trail') {
      last.tools.push(part.tool)
      last.parts.push(...between, part)
      continue
    }
    pieces.push(...between.map((p) => ({ kind: 'part' as const, key: p.key, part: p })), { kind: 'trail', key: `trail:${part.key}`, tools: [part.tool], parts: [part] })
  }
  return pieces
}

function isThinking(piece: Piece | undefined): boolean {
  return piece?.kind === 'part' && piece.part.kind === 'thinking'
}

/** What a call does, for people: the tool's own title, else its name as words. */
export function titleOf({ title, name }: Pick<ToolView, 'title' | 'name'>): string {
  return title || nameWords(name)
}

/** A program's name as words: find_orders, findOrders and shop__find-orders are "Find orders". */
export function nameWords(name: string): string {
  const words = (name.split('__').at(-1) || name).replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_\-.]+/g, ' ').trim().toLowerCase()
  return words === '' ? name : words[0]!.toUpperCase() + words.slice(1)
}

/** What calls of one tool have done: the tool's text for one or several calls, else its title. */
export function doneWords(tool: ToolView, calls: number): string {
  const [one = '', several] = tool.done.split('|')
  if (calls > 1 && several) return several.replaceAll('{n}', String(calls))
  return (one || titleOf(tool)) + (calls > 1 ? ` × ${calls}` : '')
}

export const isBusy = (tool: ToolView) => tool.status === 'running' || tool.status === 'preparing' || tool.status === 'waiting'

/** One line for a trail: what runs now, else what was done and what failed. */
export function trailWords(tools: readonly ToolView[], labels: TrayLabels): string {
  const running = tools.findLast(isBusy)
  if (running) return labels.trailRunning(titleOf(running))
  const groups = new Map<string, ToolView[]>()
  for (const tool of tools) {
    const key = `${tool.status === 'completed' ? '' : tool.status}:${tool.name}`
    groups.set(key, [...(groups.get(key) ?? []), tool])
  }
  return labels.trail([...groups.values()].map((list) => {
    const tool = list[0]!
    if (tool.status === 'completed') return doneWords(tool, list.length)
    const title = titleOf(tool) + (list.length > 1 ? ` × ${list.length}` : '')
    return { error: labels.trailFailed, denied: labels.trailDenied, cancelled: labels.trailStopped }[tool.status as 'error' | 'denied' | 'cancelled'](title)
  }))
}

/** The time that calls took, as far as it is known. */
export function trailTime(tools: readonly ToolView[]): number {
  return tools.reduce((sum, tool) => sum + (tool.durationMs ?? 0), 0)
}
