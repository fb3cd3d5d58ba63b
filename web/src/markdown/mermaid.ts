import { renderMermaidSVG } from 'beautiful-mermaid'
import { plainSource } from './diagram/source'
import { shownWords } from './diagram/words'
import type { RenderDiagram } from './plugins'

/** Draws Mermaid's flowcharts, state, sequence, class, ER and XY diagrams, in the colours of their surroundings. It throws where a drawing would lack something of its source. */
export const renderDiagram: RenderDiagram = (source) => rounded(shownWords(renderMermaidSVG(plainSource(source), {
  bg: 'var(--ct-canvas)', fg: 'var(--ct-text)', line: 'var(--ct-muted)', accent: 'var(--ct-accent)', muted: 'var(--ct-muted)', surface: 'var(--ct-accent-soft)', border: 'var(--ct-muted)', font: 'inherit', transparent: true, padding: 8,
})))

/** Corners like those of the answer around it: boxes a little, boxes that are round in the source clearly more. */
function rounded(svg: string): string {
  return svg.replace(/rx="([06])" ry="\1"(?= fill="var\(--_node-fill\)")/g, (_, of: string) => (of === '0' ? 'rx="5" ry="5"' : 'rx="14" ry="14"'))
}
