import type { Attachment } from '../api/types'
import { previewOf } from '../state/request'
import { useLabels } from '../state/tray'
import { CloseIcon, FileIcon } from './icons'

export interface AttachmentListProps {
  /** Files of a message, or those that are about to be sent. */
  files: readonly { name: string; mime: string; content?: string }[]
  /** Images of a message that was sent in this visit. */
  previews?: readonly (string | undefined)[]
  onRemove?: (index: number) => void
}

/** Files with thumbnails; a name that is too long is cut, never its button. */
export default function Attachments({ files, previews, onRemove }: AttachmentListProps) {
  const labels = useLabels()
  return (
    <ul className="ct-attachments" aria-label={labels.attached}>
      {files.map((file, i) => {
        const image = previews?.[i] ?? (file.content === undefined ? undefined : previewOf(file as Attachment))
        return (
          <li className="ct-attachment" key={i} title={file.name}>
            {image ? <img src={image} alt="" /> : <FileIcon />}
            <span><bdi>{file.name}</bdi></span>
            {onRemove && <button type="button" aria-label={`${labels.detach}: ${file.name}`} onClick={() => onRemove(i)}><CloseIcon /></button>}
          </li>
        )
      })}
    </ul>
  )
}
