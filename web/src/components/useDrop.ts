import { useRef, useState } from 'react'

/** Takes files that are dropped anywhere on an element. A drop never navigates away from the page. */
export function useDrop(take: (files: FileList) => void) {
  const [dropping, setDropping] = useState(false)
  // What is under the pointer; in some browsers also texts, for which React names their element. What is removed there, as while an answer is written, tells nobody that it was left.
  const under = useRef(new Set<EventTarget | null>())
  const hasFiles = (e: React.DragEvent) => e.dataTransfer.types.includes('Files')
  const end = () => {
    under.current.clear()
    setDropping(false)
  }
  return {
    dropping,
    onDragEnter: (e: React.DragEvent) => {
      if (!hasFiles(e)) return
      under.current.add(e.nativeEvent.target)
      setDropping(true)
    },
    onDragOver: (e: React.DragEvent) => {
      if (hasFiles(e)) e.preventDefault()
    },
    onDragLeave: (e: React.DragEvent) => {
      under.current.delete(e.nativeEvent.target)
      if (![...under.current].some((node) => (node as Node).isConnected)) end()
    },
    onDrop: (e: React.DragEvent) => {
      end()
      if (!hasFiles(e)) return
      e.preventDefault()
      take(e.dataTransfer.files)
    },
  }
}
