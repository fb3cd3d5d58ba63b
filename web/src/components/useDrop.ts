import { useRef, useState } from 'react'

/** Takes files that are dropped anywhere on an element. A drop never navigates away from the page. */
export function useDrop(take: (files: FileList) => void) {
  const [dropping, setDropping] = useState(false)
  const depth = useRef(0)
  const hasFiles = (e: React.DragEvent) => e.dataTransfer.types.includes('Files')
  const end = () => {
    depth.current = 0
    setDropping(false)
  }
  return {
    dropping,
    onDragEnter: (e: React.DragEvent) => {
      if (!hasFiles(e)) return
      depth.current++
      setDropping(true)
    },
    onDragOver: (e: React.DragEvent) => {
      if (hasFiles(e)) e.preventDefault()
    },
    onDragLeave: () => {
      if (depth.current > 0 && --depth.current === 0) end()
    },
    onDrop: (e: React.DragEvent) => {
      end()
      if (!hasFiles(e)) return
      e.preventDefault()
      take(e.dataTransfer.files)
    },
  }
}
