import { useEffect, useRef, useState } from 'react'
import { CheckIcon, CopyIcon } from '../components/icons'
import { useLabels, useTray } from '../state/tray'

/** Content for the clipboard, in several formats. */
export interface Copied {
  text: string
  html?: string
}

/** What has become of a copy, for a while, and the function that copies. */
export function useCopy(): ['copied' | 'copyFailed' | null, (what: Copied) => void] {
  const labels = useLabels()
  const { announce } = useTray()
  const [done, setDone] = useState<'copied' | 'copyFailed' | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    // WebKit lets a page copy while it handles a click, and no longer when a file has been loaded.
    if (!navigator.clipboard) void field()
    return () => clearTimeout(timer.current)
  }, [])
  return [done, (what) => void copyAs(what).then((copied) => {
    setDone(copied ? 'copied' : 'copyFailed')
    if (copied) announce(labels.copied)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setDone(null), TOLD_FOR)
  })]
}

/** A button that copies; `what` is called when it is pressed. */
export function CopyButton({ text = '', what = () => ({ text }), label }: { text?: string; what?: () => Copied; label?: string }) {
  const labels = useLabels()
  const [done, copy] = useCopy()
  const name = done === 'copied' ? labels.copied : (label ?? labels.copy)
  return (
    <>
      <button type="button" className="ct-icon-button ct-copy" onClick={() => copy(what())} aria-label={name} title={name}>{done === 'copied' ? <CheckIcon /> : <CopyIcon />}</button>
      {done === 'copyFailed' && <small className="ct-copy-failed" role="alert">{labels.copyFailed}</small>}
    </>
  )
}

/** Milliseconds. */
const TOLD_FOR = 3_000

/** What copies on pages without TLS. */
const field = () => import('./copyByField').then((m) => m.copyByField, () => () => false)

/** Copies all formats, or the text alone where the browser takes nothing else; on pages without TLS through a hidden field. */
async function copyAs({ text, html }: Copied): Promise<boolean> {
  const plain = html === undefined
  try {
    await (plain ? navigator.clipboard.writeText(text) : navigator.clipboard.write([new ClipboardItem({ 'text/plain': new Blob([text], { type: 'text/plain' }), 'text/html': new Blob([html], { type: 'text/html' }) })]))
    return true
  } catch {
    return plain ? (await field())(text) : copyAs({ text })
  }
}

/** Makes the browser save a file. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER)
}

const REVOKE_AFTER = 10_000
