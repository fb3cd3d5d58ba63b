import { Component, type ReactNode } from 'react'

export interface BoundaryProps {
  /** Shown in place of children that throw. */
  instead: ReactNode
  /** When it changes, children that have thrown are tried again. */
  of?: unknown
  children: ReactNode
}

/** Keeps an error of its children from what is around them. React logs the error. */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override componentDidUpdate({ of }: BoundaryProps) {
    if (this.state.failed && of !== this.props.of) this.setState({ failed: false })
  }

  override render() {
    return this.state.failed ? this.props.instead : this.props.children
  }
}
