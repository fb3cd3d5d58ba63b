import { useRef } from 'react'
import { classes, type PartProps } from '../state/slots'
import { useLabels } from '../state/tray'
import { useComposer } from '../state/useComposer'
import { ClipIcon, CloseIcon, FileIcon, SendIcon, StopIcon } from './icons'

export interface ComposerProps extends PartProps {
  /** The tray's own name, among those of the provider. */
  storageKey?: string
  inputRef?: React.RefObject<HTMLTextAreaElement | null>
}

/** The input with its draft, which is kept for each user and conversation. */
export function Composer({ storageKey, inputRef, className, children }: ComposerProps) {
  const labels = useLabels()
  const { text, setText, files, addFiles, removeFile, problem, busy, canSend, send, stop } = useComposer({ storageKey })
  const picker = useRef<HTMLInputElement>(null)
  return (
    <form
      className={classes('ct-composer', className)}
      onSubmit={(e) => {
        e.preventDefault()
        send()
      }}
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault()
        addFiles(e.dataTransfer.files)
      }}
    >
      {files.length > 0 && (
        <div className="ct-files">
          {files.map((file, i) => (
            <span className="ct-file" key={i} title={file.name}><FileIcon /><span>{file.name}</span><button type="button" aria-label={`${labels.detach}: ${file.name}`} onClick={() => removeFile(i)}><CloseIcon /></button></span>
          ))}
        </div>
      )}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <div className="ct-composer-row">
        <input ref={picker} type="file" multiple hidden onChange={(e) => {
          if (e.target.files) addFiles(e.target.files)
          e.target.value = ''
        }} />
        <button type="button" className="ct-icon-button" aria-label={labels.attach} title={labels.attach} onClick={() => picker.current?.click()}><ClipIcon /></button>
        <textarea
          ref={inputRef} rows={Math.min(MAX_ROWS, text.split('\n').length)} value={text} dir="auto" placeholder={labels.placeholder} aria-label={labels.composer} enterKeyHint="send"
          onChange={(e) => setText(e.target.value)}
          onPaste={(e) => {
            // Of what comes as text too, such as cells of a table, the text is meant.
            if (e.clipboardData.files.length > 0 && !e.clipboardData.types.includes('text/plain')) {
              e.preventDefault()
              addFiles(e.clipboardData.files)
            }
          }}
          onKeyDown={(e) => {
            if (e.key !== 'Enter' || e.shiftKey || composes(e)) return
            e.preventDefault()
            send()
          }}
        />
        {busy ? (
          <button type="button" className="ct-send" data-stop aria-label={labels.stop} title={labels.stopTitle} onClick={() => stop()}><StopIcon /></button>
        ) : (
          <button type="submit" className="ct-send" aria-label={labels.send} title={labels.send} disabled={!canSend}><SendIcon /></button>
        )}
      </div>
      {children}
    </form>
  )
}

/** Lines that the field has at most where it cannot take the height of its text by itself. */
const MAX_ROWS = 8

/** Whether a key belongs to a word that is still being composed; Safari says so only by its code. */
export function composes(e: React.KeyboardEvent): boolean {
  return e.nativeEvent.isComposing || e.nativeEvent.keyCode === COMPOSING
}

const COMPOSING = 229
