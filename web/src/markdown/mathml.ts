import temml from 'temml'
import type { RenderMath } from './plugins'

/** Draws TeX as MathML. Links and styles of the formula's own choosing are not taken. */
export const renderMath: RenderMath = (tex, element, display) => {
  temml.render(tex, element, { displayMode: display, throwOnError: true, strict: false, trust: false, annotate: true, maxExpand: 1000, maxSize: [20, 20] })
}
