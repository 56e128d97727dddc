const STEPS = 20

/**
 * Calls `onEnd` after this many milliseconds in which this process could react: while its event loop is busy, only a
 * twentieth of the time passes at most, because what has arrived meanwhile is read between two steps. Returns a function
 * that cancels it.
 */
export function runningTimeout(milliseconds: number, onEnd: () => void): () => void {
  let timer: NodeJS.Timeout
  const step = (left: number) => {
    timer = setTimeout(() => (left === 1 ? onEnd() : step(left - 1)), milliseconds / STEPS)
  }
  step(STEPS)
  return () => clearTimeout(timer)
}
