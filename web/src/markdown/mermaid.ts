import { renderMermaidSVG } from 'beautiful-mermaid'
import type { RenderDiagram } from './plugins'

/** Draws Mermaid's flowcharts, state, sequence, class, ER and XY diagrams, in the colours of their surroundings. */
export const renderDiagram: RenderDiagram = (source) => renderMermaidSVG(source, {
  bg: 'var(--ct-canvas)', fg: 'var(--ct-text)', line: 'var(--ct-muted)', accent: 'var(--ct-accent)', muted: 'var(--ct-muted)', surface: 'var(--ct-raised)', border: 'var(--ct-muted)', font: 'inherit', transparent: true, padding: 8,
})
