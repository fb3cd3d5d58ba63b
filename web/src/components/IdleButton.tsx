import { useBusy } from '../state/context'
import { IconButton } from './IconButton'

/** A button for what cannot be done while an answer is being written. It alone is drawn again when one begins and ends, and not its message. */
export function IdleButton({ disabled, ...rest }: React.ComponentProps<typeof IconButton>) {
  const busy = useBusy()
  return <IconButton disabled={busy || disabled} {...rest} />
}
