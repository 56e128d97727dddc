import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { StartFault } from '../../lib/start-fault.js'
import type { Account } from './account.js'
import { STOP_TIMEOUT, stopLeftover } from './leftover.js'
import { launch } from './processes.js'
import { type Server, serverEnvironment } from './server.js'
import { type ServerOptions, settings } from './settings.js'

export type Log = Pick<Logger, 'info' | 'warn' | 'error'>

/** Milliseconds that crash recovery may take; its progress is logged. */
export const START_TIMEOUT = 900_000

const PROGRESS_INTERVAL_MS = 10_000
/** Settings of glibc with which a connection returns freed memory at once, and keeps half a megabyte less. */
const LOW_MEMORY_MALLOC = { MALLOC_TRIM_THRESHOLD_: '65536', MALLOC_TOP_PAD_: '16384', MALLOC_MMAP_THRESHOLD_: '65536' }

/** The program, the folders of its data and of its sockets, and the account that it runs as. */
interface Cluster {
  server: Server
  data: string
  sockets: string
  account: Account | undefined
}

/** Keeps Postgres running: restarts it when it ends unexpectedly. */
export class Supervisor {
  #child: ChildProcess | undefined
  #ended: Promise<number | null> = Promise.resolve(null)
  #stopping = false
  #lines: string[] = []

  constructor(
    private readonly cluster: Cluster,
    private readonly log: Log,
    private readonly tuning: ServerOptions,
  ) {}

  async start(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT
    for (;;) {
      this.#launch()
      if (await this.#waitUntilReady(deadline)) break
      const output = this.#lines.join(' ')
      // the children of a killed postmaster need a moment to exit
      if (/pre-existing shared memory block|lock file "[^"]*" already exists/.test(output) && Date.now() < deadline && !this.#stopping) {
        await sleep(100)
        await stopLeftover(this.cluster.data, this.log)
        continue
      }
      await this.stop()
      throw new StartFault(`Postgres did not start: ${output.slice(0, 500) || 'it logged nothing'}`)
    }
    void this.#ended.then((code) => this.#restart(code))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    child.stdin?.end()
    const ended = await Promise.race([this.#ended.then(() => true), sleep(STOP_TIMEOUT, false, { ref: false })])
    if (!ended) await stopLeftover(this.cluster.data, this.log)
    await this.#ended
  }

  async #restart(code: number | null): Promise<void> {
    for (let wait = 100; !this.#stopping; wait = Math.min(wait * 2, 5_000)) {
      this.log.error({ code }, 'Postgres ended unexpectedly; restarting it')
      try {
        await stopLeftover(this.cluster.data, this.log)
        return await this.start()
      } catch (error) {
        if (this.#stopping) return
        this.#stopping = false
        this.log.error({ err: error }, 'Postgres could not be restarted')
        await sleep(wait, undefined, { ref: false })
      }
    }
  }

  #launch(): void {
    const program = join(this.cluster.server.bin, 'postgres')
    const child = launch(
      program,
      ['-D', this.cluster.data, ...settings(this.cluster.server, this.cluster.sockets, this.tuning)],
      this.cluster.account,
      {
        ...serverEnvironment(this.cluster.server),
        ...(this.tuning.compact && LOW_MEMORY_MALLOC),
      },
    )
    this.#child = child
    this.#lines = []
    child.stdin?.on('error', () => undefined)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter((each) => /\b(WARNING|ERROR|FATAL|PANIC|could not|cannot|not found|denied)\b/.test(each))) {
        if (this.#lines.length < 20) this.#lines.push(line.trim())
        if (/\b(FATAL|PANIC)\b/.test(line) && !/starting up|shutting down|administrator command/.test(line))
          this.log.warn({ postgres: line.trim() }, 'Postgres reported an error')
      }
    })
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code) => resolve(code))
      child.once('error', (error) => {
        this.#lines.push(error.message)
        resolve(null)
      })
    })
    child.unref()
    this.tuning.onLaunch?.()
  }

  /** Postgres writes `ready` into its lock file; reading that costs less than connecting. */
  async #waitUntilReady(deadline: number): Promise<boolean> {
    let exited = false
    void this.#ended.then(() => {
      exited = true
    })
    for (let reported = Date.now(); !exited && Date.now() < deadline; ) {
      if (Date.now() - reported >= PROGRESS_INTERVAL_MS) {
        reported = Date.now()
        this.log.info('Postgres is still starting')
      }
      const lines = (await readFile(join(this.cluster.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
      if (lines[4] === this.cluster.sockets && lines[7]?.trim() === 'ready') return true
      await sleep(5)
    }
    return false
  }
}
