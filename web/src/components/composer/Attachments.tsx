import type { Attachment } from '../../api/types'
import { sizeOf } from '../../state/values/files'
import { previewOf } from '../../state/store/request'
import { useAllLabels } from '../../state/allLabels'
import { CloseIcon } from '../icons'
import { FileIcon } from '../laterIcons'

export interface AttachmentListProps {
  /** Files of a message, or those that are about to be sent. */
  files: readonly { name: string; mime: string; size?: number; content?: string }[]
  /** Images of a message that was sent since the page was loaded. */
  previews?: readonly (string | undefined)[]
  onRemove?: (index: number) => void
}

/** Files with thumbnails and sizes; a name that is too long is cut, never its button. */
export default function Attachments({ files, previews, onRemove }: AttachmentListProps) {
  const labels = useAllLabels()
  return (
    <ul className="ct-attachments" aria-label={labels.attached}>
      {files.map((file, i) => {
        const image = previews?.[i] ?? (file.content === undefined ? undefined : previewOf(file as Attachment))
        return (
          <li className="ct-attachment" key={i} title={file.name}>
            {image ? <img src={image} alt="" /> : <FileIcon />}
            <span><bdi>{file.name}</bdi></span>
            <small>{inUnits(file.size ?? sizeOf(file as Attachment))}</small>
            {onRemove && <button type="button" aria-label={`${labels.detach}: ${file.name}`} onClick={() => onRemove(i)}><CloseIcon /></button>}
          </li>
        )
      })}
    </ul>
  )
}

const units = ['byte', 'kilobyte', 'megabyte'] as const

/** A size with its unit, as the user's language writes it. */
function inUnits(bytes: number): string {
  const step = bytes < 1000 ? 0 : bytes < 1_000_000 ? 1 : 2
  return new Intl.NumberFormat(undefined, { style: 'unit', unit: units[step], unitDisplay: step === 0 ? 'long' : 'short', maximumFractionDigits: step === 2 ? 1 : 0 }).format(bytes / 1000 ** step)
}
