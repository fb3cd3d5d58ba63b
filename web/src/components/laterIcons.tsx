// Icons of parts that are loaded later.
import { icon } from './icons'

export const PreviousIcon = icon(<path d="m12 5-5 5 5 5" />)
export const NextIcon = icon(<path d="m8 5 5 5-5 5" />)
export const PinIcon = icon(<path d="M7 3.5h6l-.8 5 2.3 2.5h-9L7.800 8.500 7 3.500ZM10 11v5.500" />)
export const ArchiveIcon = icon(<><rect x="3" y="4" width="14" height="4" rx="1" /><path d="M4.500 8v7.500h11V8M8 11h4" /></>)
export const ChipIcon = icon(<><rect x="6" y="6" width="8" height="8" rx="1.5" /><path d="M8 3v3M12 3v3M8 14v3M12 14v3M3 8h3M3 12h3M14 8h3M14 12h3" /></>)
export const ClockIcon = icon(<><circle cx="10" cy="10" r="6.500" /><path d="M10 6.500V10l2.500 1.500" /></>)
export const MoreIcon = icon(<><circle cx="4.5" cy="10" r=".8" fill="currentColor" /><circle cx="10" cy="10" r=".8" fill="currentColor" /><circle cx="15.5" cy="10" r=".8" fill="currentColor" /></>)
export const PauseIcon = icon(<><rect x="5.5" y="5" width="3" height="10" rx="1" fill="currentColor" stroke="none" /><rect x="11.5" y="5" width="3" height="10" rx="1" fill="currentColor" stroke="none" /></>)
export const TrashIcon = icon(<path d="M4 6h12M8 6V4h4v2m-6.5 0 .7 10h7.6l.7-10" />)
export const SearchIcon = icon(<><circle cx="9" cy="9" r="5" /><path d="m13 13 3.5 3.5" /></>)
export const FileIcon = icon(<><path d="M5 3h6l4 4v10H5V3Z" /><path d="M11 3v4h4" /></>)
export const BackIcon = icon(<path d="M16 10H4m5-5-5 5 5 5" />)
export const ShieldIcon = icon(<path d="M10 3 4 5.5V10c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V5.5L10 3Z" />)
