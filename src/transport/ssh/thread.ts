import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { Config } from '../../config.js'
import { StartFault } from '../../lib/start-fault.js'
import { SSH_LIMITS, type SshLimits } from './limits.js'

/** Delay before the thread is restarted after it has crashed or could not listen, in milliseconds. */
const MIN_RESTART_DELAY_MS = 1_000
/** The delay doubles up to this. */
const MAX_RESTART_DELAY_MS = 60_000

/**
 * Size of the young generation of the thread's heap. Its data is in buffers outside of the heap; the default of V8 took
 * 13 MB more.
 */
const MAX_YOUNG_GENERATION_MB = 4

interface ThreadMessage {
  listening?: true
  refused?: string
  fault?: string
  stopped?: true
}

export interface SshService {
  /** Closes idle connections at once, and the others after `wait` milliseconds. */
  close(wait: number): Promise<void>
}

export interface SshThreadOptions {
  /** The bundle of `worker.ts`. */
  program: URL
  limits?: SshLimits
  hostKeys: string[]
  /** The path of the service's socket. */
  socket: string
  /** The thread listens after this has resolved. */
  ready?: Promise<void>
  log: Logger
  stopping: AbortSignal
}

/**
 * Runs the SSH server in a worker thread, unless SSH is off. A thread that crashes is restarted. If SSH_PORT is not set
 * and the default port has been taken meanwhile, the service runs without SSH and retries.
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
