import { flowchart } from './flowchart'
import { chart, classes, entities, sequence, states } from './others'
import { checkSize } from './words'

/**
 * The source of a diagram in the form that the renderer reads whole: the renderer leaves out, or takes for something else, what is
 * written in another of the language's forms. Throws where something would be missing from the drawing.
 */
export function plainSource(source: string): string {
  const bare = source.replace(/^\s*---\s*\n[\s\S]*?\n\s*---\s*\n/, '').replace(/%%\{[\s\S]*?\}%%/g, '').replace(/^[ \t]*%%.*$/gm, '')
  const [head = '', ...lines] = bare.split('\n').map((line) => line.trim()).filter(Boolean)
  const rest = lines.map((line) => line.replace(/;$/, '').trim()).filter(Boolean)
  if (/^sequenceDiagram;?$/i.test(head)) return sequence(rest)
  const links = rest.filter((line) => /--|\.\./.test(line)).length
  if (/^(?:state|class|er)Diagram/i.test(head)) checkSize(links, rest.length - links)
  if (/^stateDiagram(-v2)?;?$/i.test(head)) return states(rest)
  if (/^classDiagram(-v2)?;?$/i.test(head)) return classes(rest)
  if (/^erDiagram;?$/i.test(head)) return entities(rest)
  if (/^xychart(-beta)?\b/i.test(head)) return chart(rest, head)
  return flowchart(bare)
}
