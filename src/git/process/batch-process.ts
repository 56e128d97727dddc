import { GitFault, GitTimeout, gitFailure } from '../errors.js'
import { type GitProcess, kill } from './spawner.js'

/** Returned by an exchange that needs no more of its answer: the process is ended, which costs less than reading on. */
export const STOP_READING = Symbol('enough')

/** A question to a long-lived process, and the reading of its answer. */
export interface Exchange {
  readonly input: string
  /** Bytes of answer to expect; questions wait while too many bytes are expected. */
  readonly expectedBytes: number
  /** Consumes output. Returns what follows the answer, or null while the answer goes on. */
  consume(chunk: Buffer): Buffer | typeof STOP_READING | null
  /** Forgets a partial answer: the process died, and another one will be asked. */
  reset(): void
}

interface Pending {
  exchange: Exchange
  attempts: number
  resolve: () => void
  reject: (reason: unknown) => void
}

const PIPELINE_LIMITS = { requests: 256, bytes: 33_554_432 }

/**
 * A long-lived git process that answers questions in order, many under way at once; started on the first question, and
 * again when it dies.
 */
export class BatchProcess {
  #child: GitProcess | null = null
  #starting = false
  /** Questions that were sent and not answered, and those not sent yet. */
  #sent: Pending[] = []
  #unsent: Pending[] = []
  #bytes = 0
  #scheduled = false
  #deadline: NodeJS.Timeout | undefined
  #retired = false

  /** `closing` is written after each bundle of questions, such as a command to flush. */
  constructor(
    readonly start: () => Promise<GitProcess>,
    readonly deadline: number,
    readonly suffix = '',
  ) {}

  get idle() {
    return this.#sent.length === 0 && this.#unsent.length === 0
  }

  /** Of the present process, if there is one. */
  get pid() {
    return this.#child?.pid
  }

  /** Resolves when the exchange has read its answer. */
  ask(exchange: Exchange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#unsent.push({ exchange, attempts: 0, resolve, reject })
      this.#schedule()
    })
  }

  /**
   * Ends the process once everything asked has been answered; whoever still holds this and asks again gets a new
   * process, ended likewise.
   */
  retire() {
    this.#retired = true
    if (this.idle) this.#child?.stdin?.end()
  }

  /** Questions of one turn of the event loop are sent in one write. */
  #schedule() {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send() {
    const child = this.#child
    if (!child) {
      void this.#startProcess()
      return
    }
    let text = ''
    for (let next = this.#unsent[0]; next; next = this.#unsent[0]) {
      const full = this.#sent.length >= PIPELINE_LIMITS.requests || this.#bytes + next.exchange.expectedBytes > PIPELINE_LIMITS.bytes
      if (full && this.#sent.length > 0) break
      this.#unsent.shift()
      this.#sent.push(next)
      this.#bytes += next.exchange.expectedBytes
      text += next.exchange.input
    }
    if (!text) return
    child.stdin?.write(text + this.suffix)
    if (!this.#deadline) this.#restartDeadline()
  }

  async #startProcess() {
    if (this.#starting || this.#unsent.length === 0) return
    this.#starting = true
    try {
      this.#child = this.#attach(await this.start())
    } catch (fault) {
      this.#onFailure(this.#unsent, fault as Error)
    } finally {
      this.#starting = false
    }
    if (this.#unsent.length > 0) this.#schedule()
    else if (this.#retired && this.idle) this.#child?.stdin?.end()
  }

  #attach(child: GitProcess): GitProcess {
    let stderr = ''
    child.stdout?.on('data', (chunk: Buffer) => child === this.#child && this.#onOutput(chunk))
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2_000)
    })
    child.stdin?.on('error', () => {}) // it died; `closed` says how
    void child.closed.then((code) => this.#onExit(child, gitFailure('batch process', code, stderr)))
    return child
  }

  #onOutput(chunk: Buffer) {
    let rest = chunk
    while (rest.length > 0) {
      const pending = this.#sent[0]
      if (!pending) return
      let left: ReturnType<Exchange['consume']>
      try {
        left = pending.exchange.consume(rest)
      } catch (fault) {
        this.#sent.shift()
        pending.reject(fault)
        this.#replaceProcess()
        return
      }
      if (left === null) return
      this.#sent.shift()
      this.#bytes -= pending.exchange.expectedBytes
      pending.resolve()
      if (left === STOP_READING) {
        this.#replaceProcess()
        return
      }
      rest = left
      this.#restartDeadline()
    }
    this.#send()
    if (this.#retired && this.idle) this.#child?.stdin?.end()
  }

  /** A deadline for the oldest question, renewed with each answer (SEC-143). */
  #restartDeadline() {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    if (this.#sent.length === 0) return
    this.#deadline = setTimeout(() => {
      this.#sent.shift()?.reject(new GitTimeout('git ran out of time'))
      this.#replaceProcess()
    }, this.deadline)
  }

  /** Ends the process and asks another one the open questions. */
  #replaceProcess() {
    const child = this.#child
    this.#child = null
    if (child) kill(child)
    this.#requeue()
  }

  #onExit(child: GitProcess, fault: Error) {
    if (child !== this.#child) return
    this.#child = null
    this.#onFailure(this.#sent, fault)
    this.#requeue()
  }

  /** The question that was being answered is asked once more; a process that cannot even start fails all. */
  #onFailure(asked: Pending[], fault: Error) {
    const head = asked[0]
    if (!head || head.attempts++ === 0) return
    const hopeless = !(fault instanceof GitFault) || fault.stderr.includes('not a git repository')
    for (const pending of hopeless ? [...this.#sent.splice(0), ...this.#unsent.splice(0)] : asked.splice(0, 1)) pending.reject(fault)
  }

  #requeue() {
    for (const { exchange } of this.#sent) exchange.reset()
    this.#unsent = [...this.#sent, ...this.#unsent]
    this.#sent = []
    this.#bytes = 0
    this.#restartDeadline()
    if (this.#unsent.length > 0) this.#schedule()
  }
}
