import { Component, createRef, type ComponentProps, type ReactNode } from 'react'

type Ends = Parameters<Selection['setBaseAndExtent']>

/**
 * An element in which a selection stays while its text grows. React replaces the whole text of a node, which moves an end of a selection
 * in it to its beginning. A selection that is being made begins with two equal ends.
 */
export class KeptSelection extends Component<ComponentProps<'div'>> {
  private readonly box = createRef<HTMLDivElement>()

  override getSnapshotBeforeUpdate(): Ends | null {
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = this.selection() ?? {}
    const isHere = (node: Node) => this.box.current?.contains(node)
    return anchorNode && focusNode && (isHere(anchorNode) || isHere(focusNode)) ? [anchorNode, anchorOffset, focusNode, focusOffset] : null
  }

  override componentDidUpdate(_props: unknown, _state: unknown, ends: Ends | null): void {
    const now = ends && this.selection()
    if (!now || (now.anchorOffset === ends[1] && now.focusOffset === ends[3]) || !has(ends[0], ends[1]) || !has(ends[2], ends[3])) return
    now.setBaseAndExtent(...ends)
  }

  /** That of the window the element is in. In a shadow root the document only knows its host. */
  private selection(): Selection | null | undefined {
    const root = this.box.current?.getRootNode() as Document | undefined
    return (root?.getSelection ? root : this.box.current?.ownerDocument)?.getSelection()
  }

  override render(): ReactNode {
    return <div ref={this.box} {...this.props} />
  }
}

const has = (node: Node, offset: number) => node.isConnected && offset <= (node.nodeValue ?? node.childNodes).length
