import temml from 'temml'
import type { RenderMath } from './plugins'

/** Draws TeX as MathML. Links and styles in the formula are ignored. */
export const renderMath: RenderMath = (tex, element, display) => {
  temml.render(tex, element, { displayMode: display, throwOnError: true, strict: false, trust: false, annotate: true, maxExpand: 1000, maxSize: [20, 20] })
}
