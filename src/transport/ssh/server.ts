import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Context } from '../../context.js'
import { ownHostKeys } from '../../lib/crypto/host-keys.js'
import { StartFault } from '../../lib/start-fault.js'
import { socketIn, sshFolder } from './client.js'
import { SSH_LIMITS, type SshLimits } from './limits.js'
import { listenOnSocket } from './socket.js'

/** Milliseconds before the worker is started again after it has ended by itself, or could not listen. */
const AGAIN = 1_000
/** The longest of these pauses: each is twice as long as the one before. */
const AGAIN_AT_MOST = 60_000

interface Said {
  listening?: true
  refused?: string
  fault?: string
  stopped?: true
}

export interface SshService {
  /** Ends connections without a command at once, and the others after so many milliseconds. */
  close(wait: number): Promise<void>
}

export interface SshSetting {
  /** The bundle of `worker.ts`. */
  program: URL
  limits?: SshLimits
}

/**
 * Answers on the local socket, and, unless SSH is off, runs the SSH server in a worker thread. The thread ends with the
 * process, however that ends; when it ends alone, another is started. A port that nobody named may have been taken
 * since it was looked at: then the service goes on without SSH, and tries again.
 */
export async function startSsh(ctx: Context, { program, limits = SSH_LIMITS }: SshSetting): Promise<SshService> {
  const { host, port, named } = ctx.config.ssh
  const folder = sshFolder(ctx.config.dataDir)
  const hostKeys = port === null ? [] : await ownHostKeys(folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const socket = await listenOnSocket(ctx, socketIn(ctx.config.dataDir))
  let closing = false
  let worker: Worker | undefined
  const start = async () => {
    // no environment: it holds secrets
    const started = new Worker(program, { workerData: { host, port, hostKeys, socket: socket.path, limits }, env: {}, argv: [], execArgv: [] })
    worker = started
    started.on('message', ({ fault }: Said) => fault && ctx.log.error({ fault }, 'SSH: a connection caused a fault'))
    started.on('error', (error) => ctx.log.error({ err: error }, 'the SSH thread has failed'))
    const { refused } = await new Promise<Said>((resolve) => {
      started.once('message', resolve)
      started.once('exit', () => resolve({ refused: 'it ended' }))
    })
    if (refused) {
      await started.terminate()
      worker = undefined
      throw new StartFault(`cannot listen for SSH on ${host}:${port} (${refused}): set SSH_HOST and SSH_PORT, or SSH_PORT to nothing`)
    }
    started.once('exit', () => !closing && void again())
  }
  const again = async () => {
    for (let pause = AGAIN; !closing; pause = Math.min(2 * pause, AGAIN_AT_MOST)) {
      await sleep(pause, undefined, { signal: ctx.stopping }).catch(() => {})
      if (closing || ctx.stopping.aborted) return
      const fault = await start().catch((error: unknown) => error)
      if (!fault) return
      ctx.log.error({ err: fault }, 'SSH is not served')
    }
  }
  const first = async () => {
    try {
      await start()
    } catch (error) {
      if (named) {
        await socket.close(0)
        throw error
      }
      ctx.log.warn({ err: error }, 'SSH is not served yet')
      void again()
    }
  }
  if (port !== null) await first()
  return {
    async close(wait) {
      closing = true
      if (worker) {
        const stopped = new Promise<void>((resolve) => worker?.on('message', ({ stopped: done }: Said) => done && resolve()))
        worker.postMessage('stop')
        await Promise.race([stopped, once(worker, 'exit'), sleep(wait)])
        await worker.terminate()
      }
      await socket.close(worker ? 0 : wait)
    },
  }
}
