import { readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { StartFault } from '../../lib/start-fault.js'
import { run } from './processes.js'

/** Milliseconds that Postgres gets to shut down. */
export const STOP_TIMEOUT = 8_000

/**
 * Stops the Postgres that a killed service left running, and removes its lock file if the process id in it now belongs
 * to another process.
 */
export async function stopLeftover(data: string, log: Pick<Logger, 'warn'>): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const read = async () => Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]) || undefined
  const pid = await read()
  if (pid === undefined) return
  if (!(await isPostgresOn(pid, data))) {
    // Postgres would trust the process id and refuse to start
    await unlink(file).catch(() => undefined)
    return
  }
  log.warn({ pid }, 'stopping a Postgres that a killed process left running')
  for (const [signal, timeout] of [
    ['SIGINT', STOP_TIMEOUT],
    ['SIGQUIT', 3_000],
    ['SIGKILL', 3_000],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return
      throw new StartFault(`Postgres (process ${pid}) runs on ${data} under another user`)
    }
    for (const until = Date.now() + timeout; Date.now() < until; await sleep(10)) {
      if (!(await isPostgresOn(pid, data))) return
    }
  }
  throw new StartFault(`Postgres (process ${pid}) on ${data} does not end`)
}

async function isPostgresOn(pid: number, data: string): Promise<boolean> {
  try {
    const command =
      process.platform === 'linux'
        ? (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
        : (await run('ps', ['-o', 'command=', '-p', String(pid)], { cwd: '/' })).stdout
    return command.includes('postgres') && command.includes(data)
  } catch {
    return false
  }
}
