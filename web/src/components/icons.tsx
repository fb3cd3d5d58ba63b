import type { ReactNode } from 'react'

/** Line icons of 20 by 20, in the text's colour; they say nothing to screen readers. */
export function icon(children: ReactNode) {
  return function Icon() {
    return (
      <svg className="ct-icon" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
        {children}
      </svg>
    )
  }
}

export const ChatIcon = icon(<path d="M4 4.5h12a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1-1.5 1.5H9l-4 3v-3H4A1.5 1.5 0 0 1 2.5 13V6A1.5 1.5 0 0 1 4 4.5Z" />)
export const SparkIcon = icon(<path d="M10 2.5c.6 4.2 3.3 6.9 7.5 7.5-4.2.6-6.9 3.3-7.5 7.5-.6-4.2-3.3-6.9-7.5-7.5 4.2-.6 6.9-3.3 7.5-7.5Z" />)
export const CloseIcon = icon(<path d="m5 5 10 10M15 5 5 15" />)
export const PlusIcon = icon(<path d="M10 4v12M4 10h12" />)
export const HistoryIcon = icon(<><path d="M3 10a7 7 0 1 0 2.2-5.1L3 7" /><path d="M3 3.5V7h3.5M10 6.5V10l2.5 1.5" /></>)
export const SendIcon = icon(<path d="M10 16V4M5 9l5-5 5 5" />)
export const StopIcon = icon(<rect x="5.5" y="5.5" width="9" height="9" rx="1.5" fill="currentColor" stroke="none" />)
export const ClipIcon = icon(<path d="m16 9-6.3 6.3a3.5 3.5 0 0 1-5-5l6.8-6.7a2.3 2.3 0 0 1 3.3 3.3L8.3 13.4a1.1 1.1 0 0 1-1.6-1.6L12.3 6.2" />)
export const CopyIcon = icon(<><rect x="7" y="7" width="9.5" height="9.5" rx="1.5" /><path d="M13 7V5A1.5 1.5 0 0 0 11.5 3.5H5A1.5 1.5 0 0 0 3.5 5v6.5A1.5 1.5 0 0 0 5 13h2" /></>)
export const CheckIcon = icon(<path d="m4 10.5 4 4 8-9" />)
export const RetryIcon = icon(<><path d="M16.5 10A6.5 6.5 0 1 1 14.5 5.3L16.5 7" /><path d="M16.5 3.5V7H13" /></>)
export const EditIcon = icon(<path d="m4 16 .7-3.3L13.5 3.9a1.6 1.6 0 0 1 2.3 0l.3.3a1.6 1.6 0 0 1 0 2.3L7.3 15.3 4 16Z" />)
const thumb = <path d="M6.5 9v7.5h-3V9h3Zm0 0 3-6c1.5 0 2.2 1 2 2.5L11 8h4.3a1.5 1.5 0 0 1 1.5 1.8l-1 5.2a1.8 1.8 0 0 1-1.8 1.5H6.5" />
export const UpIcon = icon(thumb)
export const DownIcon = icon(<g transform="matrix(1 0 0 -1 0 20)">{thumb}</g>)
export const ToolIcon = icon(<path d="M12.5 3.2a4.2 4.2 0 0 0-4.8 5.9L3 13.8a1.7 1.7 0 0 0 0 2.3l.9.9a1.7 1.7 0 0 0 2.3 0l4.7-4.7a4.2 4.2 0 0 0 5.9-4.8l-2.5 2.5-2.8-.8-.8-2.8 1.8-3.2Z" />)
export const ChevronIcon = icon(<path d="m6 8 4 4 4-4" />)
export const ArrowDownIcon = icon(<path d="M10 4v12M5 11l5 5 5-5" />)
export const PanelIcon = icon(<><rect x="3" y="4" width="14" height="12" rx="1.5" /><path d="M12 4v12" /></>)
export const BugIcon = icon(<path d="M2.5 11h3l2-6.5 4 11L14 8l1 3h2.5" />)
export const BulbIcon = icon(<path d="M7.5 14.5h5M8.5 17h3M7 12c-1.3-1-2-2.3-2-4a5 5 0 0 1 10 0c0 1.7-.7 3-2 4v.500H7V12Z" />)
export const WarnIcon = icon(<><path d="M10 3.5 17.5 16h-15L10 3.5Z" /><path d="M10 8.5v3.5M10 14v.1" /></>)
export const ImageIcon = icon(<><rect x="3" y="4" width="14" height="12" rx="1.5" /><circle cx="7" cy="8" r="1.2" /><path d="m4 15 4.5-4 3 2.5L14 11l3 3" /></>)
export const ExternalIcon = icon(<path d="M8 5H5a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-3M11 4h5v5M16 4l-7 7" />)
export const DocIcon = icon(<><rect x="4" y="3" width="12" height="14" rx="1.5" /><path d="M7 7h6M7 10h6M7 13h4" /></>)
export const DownloadIcon = icon(<path d="M10 3v9m-4-4 4 4 4-4M4 16.5h12" />)
export const ExpandIcon = icon(<path d="M12 3.5h4.5V8M16 4l-5 5M8 16.5H3.5V12M4 16l5-5" />)
export const WrapIcon = icon(<path d="M3.5 5h13M3.5 10h10.2a2.8 2.8 0 0 1 0 5.6H10m2.2-2.4L9.8 15.6l2.4 2.4M3.5 15h3" />)
export const SortIcon = icon(<path d="m6.5 8 3.5-4 3.5 4M6.5 12l3.5 4 3.5-4" />)
export const ListIcon = icon(<path d="M4 5.5h12M4 10h12M4 14.5h12" />)
export const RailIcon = icon(<><rect x="2.8" y="3.8" width="14.4" height="12.4" rx="2" /><path d="M7.8 4v12" /></>)
export const ShrinkIcon = icon(<path d="M16 4l-4.5 4.5M11.5 5v3.5H15M4 16l4.5-4.5M8.5 15v-3.5H5" />)
