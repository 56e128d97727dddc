import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'

/** A Unix socket whose listener reads what a process writes; the greeting goes before that. */
export interface Outlet {
  path: string
  greeting: string
}

export interface SpawnOptions {
  cwd: string
  env: NodeJS.ProcessEnv
  /** Of the descriptors from 0 on; an outlet for one of the first three only. */
  stdio: ('pipe' | 'ignore' | Outlet)[]
  /** A nice value from 1 to 19; undefined: the priority of the service. */
  niceness: number | undefined
}

/** A process that has been started, the leader of a process group of its own. */
export interface GitProcess {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** By descriptor; from 3 on both directions. */
  readonly stdio: readonly (Readable | Writable | null)[]
  readonly running: boolean
  /** Resolves with the exit code when the process has ended; null: a signal ended it. */
  readonly exited: Promise<number | null>
  /** The same once its output has been read to the end as well. */
  readonly closed: Promise<number | null>
}

/** Starts processes. */
export interface Spawner {
  /** Rejects with the error of the system when the process cannot be started. */
  spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess>
  close(): Promise<void>
}

/** Starts processes from this one, which stands still meanwhile: the longer, the more memory it has. */
export const directSpawner: Spawner = {
  async spawn(program, args, { cwd, env, stdio, niceness }) {
    const outlets: Socket[] = []
    const descriptors: ('pipe' | 'ignore' | Socket)[] = []
    let child: ChildProcess
    try {
      for (const kind of stdio) {
        if (typeof kind !== 'string') outlets.push(await connectTo(kind.path, kind.greeting))
        descriptors.push(typeof kind === 'string' ? kind : (outlets.at(-1) as Socket))
      }
      child = spawn(program, args, { cwd, env, stdio: descriptors, detached: true })
    } finally {
      for (const outlet of outlets) outlet.destroy()
    }
    const state = { running: true }
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => {
        state.running = false
        resolve(code)
      })
    })
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
    await whenStarted(child)
    const pid = child.pid as number
    if (niceness !== undefined) lowerPriority(pid, niceness)
    const { stdin, stdout, stderr } = child
    return {
      ...{ pid, stdin, stdout, stderr, exited, closed, stdio: child.stdio as (Readable | Writable | null)[] },
      get running() {
        return state.running
      },
    }
  },
  async close() {},
}

/** A connection to a Unix socket that is not read from here; it starts with the greeting. */
export function connectTo(path: string, greeting: string | Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.pause()
    socket.once('error', reject)
    socket.write(greeting, (error) => {
      socket.off('error', reject)
      socket.on('error', () => {})
      if (error) reject(error)
      else resolve(socket)
    })
  })
}

/** Resolves when a process runs; rejects with the error of the system when it cannot be started. */
export const whenStarted = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })

/**
 * Lowers the priority of a process. Each is the first of its session, and where Linux schedules sessions as groups the
 * priority of the group has to be lowered as well.
 */
export function lowerPriority(pid: number, niceness: number) {
  try {
    setPriority(pid, niceness)
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // it has just ended, or the system has no such groups, or allows only a few changes a second
  }
}

/** Sends a signal to a process and everything it started. */
export function kill(child: GitProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') {
  if (!child.running) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // it has just ended
  }
}
