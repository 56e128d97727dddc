import { readFileSync } from 'node:fs'

/** Whether a process with this id runs, under any account. One that has ended and waits for its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const [state] = statOf(pid)
  return state !== 'Z' && state !== 'X'
}

/** The start time of a process, in ticks since boot; undefined where the system does not report it. */
export const startTimeOf = (pid: number): string | undefined => statOf(pid)[19]

/** Fields of `/proc/PID/stat` from the state on; none where there is no such file. */
function statOf(pid: number): string[] {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return line.slice(line.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
