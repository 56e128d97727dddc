import { readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { startTimeOf } from '../../lib/is-running.js'

/** Prefix of the heartbeat files beside a repository, one per running push, touched every ten seconds. */
export const WRITER_FILE_PREFIX = '.writing-'

export const isWriterFile = (path: string): boolean => basename(path).startsWith(WRITER_FILE_PREFIX)

/** Identifies a process by boot id, pid namespace, pid and start time; empty if the system does not provide them. */
export async function processIdentity(pid: number): Promise<string> {
  try {
    const [boot, pidNamespace] = await Promise.all([readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readlink('/proc/self/ns/pid')])
    const started = startTimeOf(pid)
    return started === undefined ? '' : `${boot.trim()} ${pidNamespace} ${pid} ${started}`
  } catch {
    return ''
  }
}

/** Whether the process that wrote this file ran on this machine and has ended. */
export async function isWriterDead(path: string): Promise<boolean> {
  const identity = (await readFile(path, 'utf8').catch(() => '')).split(' ')
  const [boot, pidNamespace, pid] = identity
  const [ownBoot, ownNamespace] = (await processIdentity(process.pid)).split(' ')
  return pid !== undefined && boot === ownBoot && pidNamespace === ownNamespace && (await processIdentity(Number(pid))) !== identity.join(' ')
}
