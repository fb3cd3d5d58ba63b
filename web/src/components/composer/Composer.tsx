import { useCallback, useContext, useEffect, useRef, useState } from 'react'
import { askedFor } from './asked'
import { keyOf, OWN_ESCAPE } from '../../state/keys'
import { useKeptShort } from '../../state/longText'
import { classes, type PartProps } from '../../state/slots'
import { HasEscape, useLabels } from '../../state/tray'
import { useComposer } from './useComposer'
import { ClipIcon, SendIcon, StopIcon } from '../icons'
import { AttachmentList, ComposerFoot, Palette, Queue } from '../laterParts'
import { useRecall } from './useRecall'

export interface ComposerProps extends PartProps {
  /** The tray's own name among the trays of the provider. */
  storageKey?: string | undefined
  inputRef?: React.RefObject<HTMLTextAreaElement | null> | undefined
}

/** The input with its draft, which is kept for each user and conversation. */
export function Composer({ storageKey, inputRef, className, children }: ComposerProps) {
  const labels = useLabels()
  const own = useContext(HasEscape) && OWN_ESCAPE
  const { text, setText, files, addFiles, removeFile, problem, busy, canSend, waits, send, stop, queue, bringBack } = useComposer({ storageKey })
  const picker = useRef<HTMLInputElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const input = inputRef ?? field
  const palette = usePalette(text, setText, input)
  const recall = useRecall(text, setText)
  const used = useRef(false)
  useKeptShort(input, setText)
  return (
    <form
      className={classes('ct-composer', className)}
      onSubmit={(e) => {
        e.preventDefault()
        send()
      }}
    >
      {palette.part}
      {queue > 0 && <Queue onEdit={(m) => {
        bringBack(m)
        input.current?.focus()
      }} />}
      {files.length > 0 && <AttachmentList files={files} onRemove={removeFile} />}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <div className="ct-composer-row">
        <input ref={picker} type="file" multiple hidden onChange={(e) => {
          if (e.target.files) addFiles(e.target.files)
          e.target.value = ''
        }} />
        <button type="button" className="ct-icon-button" aria-label={labels.attach} title={labels.attach} onClick={() => picker.current?.click()}><ClipIcon /></button>
        <textarea
          ref={input} rows={Math.min(MAX_ROWS, text.split('\n').length)} value={text} dir={text ? 'auto' : undefined} placeholder={busy ? labels.placeholderBusy : labels.placeholder} aria-label={labels.composer} enterKeyHint="send"
          {...own} {...palette.aria}
          onChange={(e) => {
            setText(e.target.value)
            palette.look(e.target)
          }}
          onSelect={(e) => palette.look(e.currentTarget)}
          onFocus={(e) => {
            // A browser puts the caret before a draft. A pointer sets it after this.
            if (!used.current) e.currentTarget.setSelectionRange(text.length, text.length)
            used.current = true
          }}
          onBlur={palette.close}
          onPaste={(e) => {
            // If the clipboard also has text, such as the cells of a table, the
            // text is pasted.
            if (e.clipboardData.files.length > 0 && !e.clipboardData.types.includes('text/plain')) {
              e.preventDefault()
              addFiles(e.clipboardData.files)
            }
          }}
          onKeyDown={(e) => {
            if (palette.keys.current?.(e)) {
              e.preventDefault()
              e.stopPropagation()
              return
            }
            if (recall(e)) return e.preventDefault()
            if (keyOf(e) !== 'Enter' || e.shiftKey) return
            e.preventDefault()
            send()
          }}
        />
        {busy && canSend && <button type="submit" className="ct-send" aria-label={labels.queueAdd} title={labels.queueAdd}><SendIcon /></button>}
        {busy ? (
          <button type="button" className="ct-send" data-stop {...own} aria-label={labels.stop} title={labels.stopTitle} onClick={(e) => {
            // React makes this button the one that sends before the browser does what a button's type says. A second click is
            // that of a double click on the one that sends.
            e.preventDefault()
            if (e.detail < 2) stop()
          }}><StopIcon /></button>
        ) : (
          <button type="submit" className="ct-send" aria-label={labels.send} title={labels.send} disabled={!canSend} aria-busy={waits || undefined}>{waits ? <span className="ct-spinner" /> : <SendIcon />}</button>
        )}
      </div>
      <ComposerFoot />
      {children}
    </form>
  )
}

/** The list that a `/` or an `@` opens above the input. */
function usePalette(text: string, setText: (text: string) => void, input: React.RefObject<HTMLTextAreaElement | null>) {
  const [caret, setCaret] = useState(-1)
  const [list, setList] = useState<{ id: string; option?: string }>({ id: '' })
  const keys = useRef<((e: React.KeyboardEvent) => boolean) | null>(null)
  const closed = useRef('')
  const asked = caret < 0 ? null : askedFor(text, caret)
  const look = (field: HTMLTextAreaElement) => {
    const at = field.selectionStart === field.selectionEnd ? field.selectionStart : -1
    const before = field.value.slice(0, Math.max(at, 0))
    if (closed.current && before.startsWith(closed.current)) return setCaret(-1)
    closed.current = ''
    setCaret(at)
  }
  const close = useCallback(() => setCaret(-1), [])
  const active = useCallback((id: string, option: string | undefined) => setList({ id, option }), [])
  const after = useRef(-1)
  useEffect(() => {
    if (after.current < 0) return
    input.current?.setSelectionRange(after.current, after.current)
    after.current = -1
  }, [text, input])
  const part = asked && (
    <Palette
      asked={asked} keys={keys} onActive={active}
      onClose={() => {
        closed.current = text.slice(0, caret)
        close()
      }}
      onPick={(words) => {
        after.current = asked.from + words.length
        setText(text.slice(0, asked.from) + words + text.slice(caret))
        close()
      }}
    />
  )
  const aria = asked && list.id ? { ...OWN_ESCAPE, 'aria-autocomplete': 'list' as const, 'aria-haspopup': 'listbox' as const, 'aria-controls': list.id, 'aria-activedescendant': list.option } : {}
  return { part, aria, keys, look, close }
}

/** The most lines of the field if it cannot take the height of its text by itself. */
const MAX_ROWS = 8
