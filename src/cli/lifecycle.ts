import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { StartFault } from '../lib/start-fault.js'

/**
 * How long running requests may take after a signal, in milliseconds. The process ends within ten seconds (SEC-160).
 */
export const DRAIN_TIMEOUT_MS = 7_000
/** The process exits after this time, in milliseconds. */
const EXIT_TIMEOUT_MS = DRAIN_TIMEOUT_MS + 2_500

/** Why a service ends by itself. */
export const OUTDATED = { reason: 'the database was migrated by a newer version of Roost' }

type CloseStep = () => Promise<unknown>

/** Start and shutdown of a process: closes what was opened, in reverse order. */
export class Lifecycle {
  /** Closed in the reverse order. */
  readonly #closeSteps: CloseStep[] = []
  readonly #stop = new AbortController()
  #started: Promise<unknown> = Promise.resolve()

  constructor(readonly log: Logger) {}

  /** Fires when the process shuts down. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Registers a step of the shutdown; steps run in reverse order. */
  onClose(close: CloseStep): void {
    this.#closeSteps.push(close)
  }

  /** Runs all steps; returns false if one has failed. */
  async close(): Promise<boolean> {
    let clean = true
    for (let step = this.#closeSteps.pop(); step; step = this.#closeSteps.pop()) {
      await step().catch((error: unknown) => {
        clean = false
        this.log.error({ err: error }, 'a shutdown step failed')
      })
    }
    return clean
  }

  /** Names the start, which `end` waits for. */
  begin(started: Promise<unknown>): void {
    this.#started = started
  }

  /** Waits for the start to end, closes everything and exits. */
  end(reason: Record<string, unknown>): void {
    if (this.signal.aborted) return
    this.#stop.abort(new Error('stopped while starting'))
    this.log.info(reason, 'stopping')
    const closed = this.#started.then(
      () => this.close(),
      () => this.close(),
    )
    void Promise.race([closed, sleep(EXIT_TIMEOUT_MS, false)]).then((clean) => {
      this.log.flush(() => process.exit(clean ? 0 : 1))
    })
  }

  /**
   * Waits for the start. A signal ends the process; a failed start closes what it has opened and throws StartFault.
   */
  async untilStarted(started: Promise<unknown>): Promise<void> {
    this.begin(started)
    this.#endOnSignal()
    try {
      await started
    } catch (error) {
      if (this.signal.aborted) return
      await this.close()
      if (error instanceof StartFault) throw error
      this.log.fatal({ err: error }, 'the start failed')
      throw new StartFault(`the start failed: ${String(error instanceof Error ? error.message : error).split('\n', 1)[0]}`)
    }
  }

  #endOnSignal(): void {
    const end = (signal: NodeJS.Signals) => this.end({ signal })
    process.on('SIGTERM', end).on('SIGINT', end)
    // ignore SIGHUP under nohup
    if (!ignoresHangup()) process.on('SIGHUP', end)
  }
}

/** Whether this process was started with SIGHUP ignored, as nohup does. */
function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
    return (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}
