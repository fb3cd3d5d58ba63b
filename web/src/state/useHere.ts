import { useSyncExternalStore } from 'react'

/** Whether the component is in a browser. What a server has rendered is hydrated as if it were not, and rendered again at once. */
export const useHere = () => useSyncExternalStore(never, yes, no)

const never = () => () => undefined
const yes = () => true
const no = () => false
