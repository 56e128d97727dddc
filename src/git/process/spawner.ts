import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { getPriority, setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'

/** A Unix socket to which a process writes its output, preceded by the greeting. */
export interface Outlet {
  path: string
  greeting: string
}

export interface SpawnOptions {
  cwd: string
  env: NodeJS.ProcessEnv
  /** The descriptors from 0 on; only the first three can be outlets. */
  stdio: ('pipe' | 'ignore' | Outlet)[]
  /** A nice value from 1 to 19; undefined keeps the priority of the service. */
  niceness: number | undefined
}

/** A started process, the leader of its own process group. */
export interface GitProcess {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Streams by descriptor; bidirectional from 3 on. */
  readonly stdio: readonly (Readable | Writable | null)[]
  readonly running: boolean
  /** Resolves with the exit code when the process has exited; null if a signal killed it. */
  readonly exited: Promise<number | null>
  /** Like `exited`, but after the output has been read to the end as well. */
  readonly closed: Promise<number | null>
}

export interface Spawner {
  /** Rejects with the system error if the process cannot be started. */
  spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess>
  close(): Promise<void>
}

/** Starts processes directly, which blocks this process, the longer the more memory it uses. */
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
      pid,
      stdin,
      stdout,
      stderr,
      exited,
      closed,
      stdio: child.stdio as (Readable | Writable | null)[],
      get running() {
        return state.running
      },
    }
  },
  async close() {},
}

/** Connects to a Unix socket and writes the greeting; the connection is not read here. */
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

/** Resolves when a process runs; rejects with the system error if it cannot be started. */
export const whenStarted = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })

/** The largest nice value. */
const MAX_NICENESS = 19

/**
 * Lowers the priority of a process below this one's, which may itself run at another one than 0. Each is a session
 * leader, and where Linux schedules sessions as autogroups, the nice value of the autogroup has to be set as well.
 */
export function lowerPriority(pid: number, niceness: number) {
  try {
    const value = Math.min(MAX_NICENESS, getPriority() + niceness)
    setPriority(pid, value)
    writeFileSync(`/proc/${pid}/autogroup`, String(value))
  } catch {
    // the process has just ended, or the system has no autogroups or limits the rate of changes
  }
}

/** Sends a signal to the process group. */
export function kill(child: GitProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') {
  if (!child.running) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // the process has just ended
  }
}
