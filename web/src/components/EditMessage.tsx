import { useRef, useState } from 'react'
import type { Attachment } from '../api/types'
import { useChatState, useChatStore } from '../state/context'
import { keyOf, OWN_ESCAPE, takeEscape } from '../state/keys'
import { useKeptShort, useShort } from '../state/longText'
import { trimmed } from '../state/values/cut'
import type { GeneralChatMessage } from '../state/values/state'
import { useAllLabels } from '../state/allLabels'
import { useFiles, type FileHolder } from './composer/useFiles'
import { AttachmentList } from './laterParts'

export interface EditMessageProps {
  message: GeneralChatMessage
  done: () => void
}

/** A question while it is changed. It keeps its files unless they are removed. */
export default function EditMessage({ message, done }: EditMessageProps) {
  const labels = useAllLabels()
  const store = useChatStore()
  const field = useRef<HTMLTextAreaElement>(null)
  const before = message.attachments ?? []
  const [keeps, setKeeps] = useState(() => before.map((_, i) => i))
  const { files, problem, addText, remove } = useFiles(useHeld(), keeps.length)
  const [whole, setWhole] = useState(message.content)
  const [text, setText] = useShort(whole, setWhole, addText)
  useKeptShort(field, setText)
  // A question cannot be changed while another one is answered; the text stays here.
  const busy = useChatState((state) => state.isLoading || state.isOpening)
  const canSend = !busy && (trimmed(text) !== '' || files.length + keeps.length > 0)
  const send = () => {
    if (!canSend) return
    done()
    void store.sendMessage(trimmed(text) || labels.attachedOnly, { editMessageId: message.id, ...(before.length > 0 && { keepAttachments: keeps }), ...(files.length > 0 && { attachments: files }) })
  }
  return (
    <article className="ct-message ct-editing" data-role="user" aria-label={labels.editing} {...OWN_ESCAPE} onKeyDown={(e) => takeEscape(e) && done()}>
      {keeps.length + files.length > 0 && (
        <AttachmentList
          files={[...keeps.map((i) => before[i]!), ...files]} previews={keeps.map((i) => message.previews?.[i])}
          onRemove={(at) => at < keeps.length ? setKeeps(keeps.filter((_, i) => i !== at)) : remove(at - keeps.length)}
        />
      )}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <textarea
        ref={field} className="ct-input" aria-label={labels.editing} value={text} rows={Math.min(8, text.split('\n').length + 1)} autoFocus dir="auto"
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (keyOf(e) !== 'Enter' || e.shiftKey) return
          e.preventDefault()
          send()
        }}
      />
      <div className="ct-row">
        <button type="button" className="ct-button" onClick={done}>{labels.cancel}</button>
        <button type="button" className="ct-button" data-style="primary" disabled={!canSend} onClick={send}>{labels.resend}</button>
      </div>
    </article>
  )
}

/** Files that exist as long as the form. */
function useHeld(): FileHolder {
  const [files, setFiles] = useState<Attachment[]>([])
  const here = useRef(files)
  return {
    files,
    get: () => here.current,
    put: (next) => {
      here.current = next
      setFiles(next)
    },
  }
}
