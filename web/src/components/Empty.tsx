import { useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import { useLabels } from '../state/tray'
import { SendIcon, SparkIcon } from './icons'

/** A question that an empty chat offers. */
export interface Starter {
  label: string
  /** The message that is sent; the label when absent. */
  message?: string | undefined
  /** What it leads to, in a few words. */
  hint?: string | undefined
}

export interface EmptyProps extends PartProps {
  starters?: Starter[] | undefined
}

/** What a chat without messages shows: a welcome, and questions to begin with. */
export function Empty({ starters = [], className, children }: EmptyProps) {
  const store = useChatStore()
  const labels = useLabels()
  return (
    <div className={classes('ct-welcome', className)}>
      <span className="ct-welcome-mark"><SparkIcon /></span>
      <h2>{labels.welcomeTitle}</h2>
      <p>{labels.welcomeText}</p>
      <div className="ct-starters">
        {starters.map((starter) => (
          <button type="button" className="ct-starter" key={starter.label} onClick={() => void store.sendMessage(starter.message ?? starter.label)}>
            <span>{starter.label}{starter.hint && <small>{starter.hint}</small>}</span><SendIcon />
          </button>
        ))}
      </div>
      {children}
    </div>
  )
}
