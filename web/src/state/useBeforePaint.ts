import { useEffect, useLayoutEffect } from 'react'

/** useLayoutEffect, without what React 18 says on a server: that it does nothing there. */
export const useBeforePaint: typeof useLayoutEffect = (effect, values) => (typeof document === 'undefined' ? useEffect : useLayoutEffect)(effect, values)
