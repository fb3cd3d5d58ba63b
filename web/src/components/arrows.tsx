// Icons of parts that are loaded later.
import { icon } from './icons'

export const PreviousIcon = icon(<path d="m12 5-5 5 5 5" />)
export const NextIcon = icon(<path d="m8 5 5 5-5 5" />)
export const PinIcon = icon(<path d="M7 3.5h6l-.8 5 2.3 2.5h-9L7.800 8.500 7 3.500ZM10 11v5.500" />)
export const ArchiveIcon = icon(<><rect x="3" y="4" width="14" height="4" rx="1" /><path d="M4.500 8v7.500h11V8M8 11h4" /></>)
export const ChipIcon = icon(<><rect x="6" y="6" width="8" height="8" rx="1.5" /><path d="M8 3v3M12 3v3M8 14v3M12 14v3M3 8h3M3 12h3M14 8h3M14 12h3" /></>)
export const ClockIcon = icon(<><circle cx="10" cy="10" r="6.500" /><path d="M10 6.500V10l2.500 1.500" /></>)
