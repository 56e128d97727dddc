import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Context } from '../../context.js'
import { ownHostKeys } from '../../lib/crypto/host-keys.js'
import { StartFault } from '../../lib/start-fault.js'
import { socketIn, sshFolder } from './client.js'
import { SSH_LIMITS, type SshLimits } from './limits.js'
import { listenOnSocket } from './socket.js'

/** Milliseconds before the worker is started again after it has ended by itself. */
const AGAIN = 1_000

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
 * process, however that ends; when it ends alone, another is started.
 */
export async function startSsh(ctx: Context, { program, limits = SSH_LIMITS }: SshSetting): Promise<SshService> {
  const { host, port } = ctx.config.ssh
  const hostKeys = await ownHostKeys(sshFolder(ctx.config.dataDir))
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
      throw new StartFault(`cannot listen for SSH on ${host}:${port} (${refused}): set SSH_HOST and SSH_PORT, or SSH_PORT to nothing`)
    }
    started.once('exit', () => !closing && void again())
  }
  const again = async () => {
    while (!closing) {
      await sleep(AGAIN)
      if (closing) return
      const fault = await start().catch((error: unknown) => error)
      if (!fault) return
      ctx.log.error({ err: fault }, 'SSH is not served')
    }
  }
  if (port !== null) await start().catch((error: unknown) => socket.close(0).then(() => Promise.reject(error)))
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
