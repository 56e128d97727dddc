import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { Config } from '../../config.js'
import { StartFault } from '../../lib/start-fault.js'
import { SSH_LIMITS, type SshLimits } from './limits.js'

/** Milliseconds before the worker is started again after it has ended by itself, or could not listen. */
const MIN_RESTART_DELAY_MS = 1_000
/** The longest of these pauses: each is twice as long as the one before. */
const MAX_RESTART_DELAY_MS = 60_000

/**
 * Megabytes for young objects of the thread. What it moves is in buffers outside; with V8's default it kept 13 MB more
 * after a first start, though no more after a later one.
 */
const MAX_YOUNG_GENERATION_MB = 4

interface ThreadMessage {
  listening?: true
  refused?: string
  fault?: string
  stopped?: true
}

export interface SshService {
  /** Ends connections without a command at once, and the others after so many milliseconds. */
  close(wait: number): Promise<void>
}

export interface SshThreadOptions {
  /** The bundle of `worker.ts`. */
  program: URL
  limits?: SshLimits
  hostKeys: string[]
  /** Where the service answers. */
  socket: string
  /** It listens once this has resolved, and gets ready meanwhile. */
  ready?: Promise<void>
  log: Logger
  stopping: AbortSignal
}

/**
 * Runs the SSH server in a worker thread, unless SSH is off. The thread ends with the process, however that ends; when
 * it ends alone, another is started. A port that nobody named may have been taken since it was looked at: then the
 * service goes on without SSH, and tries again.
 */
export async function startSshThread({ host, port, named }: Config['ssh'], options: SshThreadOptions): Promise<SshService> {
  const { program, limits = SSH_LIMITS, hostKeys, socket, log, stopping, ready = Promise.resolve() } = options
  let closing = false
  let worker: Worker | undefined
  const start = async () => {
    // no environment: it holds secrets
    const started = new Worker(program, {
      workerData: { host, port, hostKeys, socket, limits },
      env: {},
      argv: [],
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB },
    })
    worker = started
    started.on('message', ({ fault }: ThreadMessage) => fault && log.error({ fault }, 'SSH: a connection caused a fault'))
    started.on('error', (error) => log.error({ err: error }, 'the SSH thread has failed'))
    const { refused } = await new Promise<ThreadMessage>((resolve) => {
      started.once('message', resolve)
      started.once('exit', () => resolve({ refused: 'it ended' }))
      ready.then(
        () => started.postMessage('listen'),
        () => resolve({ refused: 'the service does not start' }),
      )
    })
    if (refused) {
      await started.terminate()
      worker = undefined
      throw new StartFault(`cannot listen for SSH on ${host}:${port} (${refused}): set SSH_HOST and SSH_PORT, or SSH_PORT to nothing`)
    }
    started.once('exit', () => !closing && void restart())
  }
  const restart = async () => {
    for (let delay = MIN_RESTART_DELAY_MS; !closing; delay = Math.min(2 * delay, MAX_RESTART_DELAY_MS)) {
      await sleep(delay, undefined, { signal: stopping }).catch(() => {})
      if (closing || stopping.aborted) return
      const fault = await start().catch((error: unknown) => error)
      if (!fault) return
      log.error({ err: fault }, 'SSH is not served')
    }
  }
  const startFirst = async () => {
    try {
      await start()
    } catch (error) {
      await ready
      if (named) throw error
      log.warn({ err: error }, 'SSH is not served yet')
      void restart()
    }
  }
  if (port !== null) await startFirst()
  await ready
  return {
    async close(wait) {
      closing = true
      if (!worker) return
      const stopped = new Promise<void>((resolve) => worker?.on('message', ({ stopped: done }: ThreadMessage) => done && resolve()))
      worker.postMessage('stop')
      await Promise.race([stopped, once(worker, 'exit'), sleep(wait)])
      await worker.terminate()
    },
  }
}
