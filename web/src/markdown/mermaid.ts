import { renderMermaidSVG } from 'beautiful-mermaid'
import { plainSource } from './diagram/source'
import { shownWords } from './diagram/words'
import type { RenderDiagram } from './plugins'

/** Draws Mermaid's flowcharts, state, sequence, class, ER and XY diagrams, in the colours of their surroundings. It throws where a drawing would lack something of its source. */
export const renderDiagram: RenderDiagram = (source) => shownWords(renderMermaidSVG(plainSource(source), {
  bg: 'var(--ct-canvas)', fg: 'var(--ct-text)', line: 'var(--ct-muted)', accent: 'var(--ct-accent)', muted: 'var(--ct-muted)', surface: 'var(--ct-raised)', border: 'var(--ct-muted)', font: 'inherit', transparent: true, padding: 8,
}))
