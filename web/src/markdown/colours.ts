import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import type { Elements } from './plugins'

/** The elements of coloured code. The page's highlighter may use any attributes, and styles as text. */
export const elements: Elements = (tree) => toJsxRuntime(tree, { Fragment, jsx, jsxs, ignoreInvalidStyle: true })
