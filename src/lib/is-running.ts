import { readFileSync } from 'node:fs'

/** Whether a process with this id is running, under any account; zombies do not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return !processStat(pid)?.ended
}

/** The start time of a running process, in ticks since boot; undefined where the system does not report it. */
export function startTimeOf(pid: number): string | undefined {
  const stat = processStat(pid)
  return stat?.ended ? undefined : stat?.started
}

/** Reads `/proc/PID/stat`; null if there is none. `ended`: the process is a zombie. */
export function processStat(pid: number): { ended: boolean; group: number; started: string | undefined } | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // from the third field on; the second is a name in parentheses
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { ended: fields[0] === 'Z' || fields[0] === 'X', group: Number(fields[2]), started: fields[19] }
  } catch {
    return null
  }
}
