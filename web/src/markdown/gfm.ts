import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

/** Reads GitHub's Markdown: tables, footnotes, tasks, strikethrough and bare addresses. It reads only; what writes Markdown would double its size. */
export function remarkGfm(this: { data: () => object }): undefined {
  const data = this.data() as { micromarkExtensions?: unknown[]; fromMarkdownExtensions?: unknown[] }
  ;(data.micromarkExtensions ??= []).push(gfm({ singleTilde: false }))
  ;(data.fromMarkdownExtensions ??= []).push(gfmFromMarkdown())
}
