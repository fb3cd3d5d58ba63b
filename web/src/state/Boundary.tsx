import { Component, Suspense, type ReactNode } from 'react'

export interface BoundaryProps {
  /** Shown in place of children that throw, and of those that are still loading unless `meanwhile` is given. */
  instead: ReactNode
  meanwhile?: ReactNode
  /** When it changes, children that have thrown are tried again. */
  of?: unknown
  children: ReactNode
}

/** Keeps an error of its children, and their loading, from what is around them. React logs the error. */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override componentDidUpdate({ of }: BoundaryProps) {
    if (this.state.failed && of !== this.props.of) this.setState({ failed: false })
  }

  override render(): ReactNode {
    const { instead, meanwhile = instead, children } = this.props
    return this.state.failed ? instead : <Suspense fallback={meanwhile}>{children}</Suspense>
  }
}
