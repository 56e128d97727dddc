import { GitFault, gitFailure, OutOfTime } from '../errors.js'
import { type GitProcess, kill } from './spawner.js'

/** Returned by an exchange that needs no more of its answer: the process is ended, which costs less than reading on. */
export const ENOUGH = Symbol('enough')

/** A question to a long-lived process, and the reading of its answer. */
export interface Exchange {
  readonly question: string
  /** Bytes of answer to expect; questions wait while too many bytes are expected. */
  readonly weight: number
  /** Consumes output. Returns what follows the answer, or null while the answer goes on. */
  take(chunk: Buffer): Buffer | typeof ENOUGH | null
  /** Forgets a partial answer: the process died, and another one will be asked. */
  reset(): void
}

interface Pending {
  exchange: Exchange
  tries: number
  resolve: () => void
  reject: (reason: unknown) => void
}

const WINDOW = { questions: 256, bytes: 33_554_432 }

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
    readonly closing = '',
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
      this.#unsent.push({ exchange, tries: 0, resolve, reject })
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
      void this.#begin()
      return
    }
    let text = ''
    for (let next = this.#unsent[0]; next; next = this.#unsent[0]) {
      const full = this.#sent.length >= WINDOW.questions || this.#bytes + next.exchange.weight > WINDOW.bytes
      if (full && this.#sent.length > 0) break
      this.#unsent.shift()
      this.#sent.push(next)
      this.#bytes += next.exchange.weight
      text += next.exchange.question
    }
    if (!text) return
    child.stdin?.write(text + this.closing)
    if (!this.#deadline) this.#watch()
  }

  async #begin() {
    if (this.#starting || this.#unsent.length === 0) return
    this.#starting = true
    try {
      this.#child = this.#listen(await this.start())
    } catch (fault) {
      this.#failed(this.#unsent, fault as Error)
    } finally {
      this.#starting = false
    }
    if (this.#unsent.length > 0) this.#schedule()
    else if (this.#retired && this.idle) this.#child?.stdin?.end()
  }

  #listen(child: GitProcess): GitProcess {
    let stderr = ''
    child.stdout?.on('data', (chunk: Buffer) => child === this.#child && this.#take(chunk))
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2_000)
    })
    child.stdin?.on('error', () => {}) // it died; `closed` says how
    void child.closed.then((code) => this.#died(child, gitFailure('batch process', code, stderr)))
    return child
  }

  #take(chunk: Buffer) {
    let rest = chunk
    while (rest.length > 0) {
      const pending = this.#sent[0]
      if (!pending) return
      let left: ReturnType<Exchange['take']>
      try {
        left = pending.exchange.take(rest)
      } catch (fault) {
        this.#sent.shift()
        pending.reject(fault)
        this.#drop()
        return
      }
      if (left === null) return
      this.#sent.shift()
      this.#bytes -= pending.exchange.weight
      pending.resolve()
      if (left === ENOUGH) {
        this.#drop()
        return
      }
      rest = left
      this.#watch()
    }
    this.#send()
    if (this.#retired && this.idle) this.#child?.stdin?.end()
  }

  /** A deadline for the oldest question, renewed with each answer (SEC-143). */
  #watch() {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    if (this.#sent.length === 0) return
    this.#deadline = setTimeout(() => {
      this.#sent.shift()?.reject(new OutOfTime('git ran out of time'))
      this.#drop()
    }, this.deadline)
  }

  /** Ends the process and asks another one the open questions. */
  #drop() {
    const child = this.#child
    this.#child = null
    if (child) kill(child)
    this.#again()
  }

  #died(child: GitProcess, fault: Error) {
    if (child !== this.#child) return
    this.#child = null
    this.#failed(this.#sent, fault)
    this.#again()
  }

  /** The question that was being answered is asked once more; a process that cannot even start fails all. */
  #failed(asked: Pending[], fault: Error) {
    const head = asked[0]
    if (!head || head.tries++ === 0) return
    const hopeless = !(fault instanceof GitFault) || fault.stderr.includes('not a git repository')
    for (const pending of hopeless ? [...this.#sent.splice(0), ...this.#unsent.splice(0)] : asked.splice(0, 1)) pending.reject(fault)
  }

  #again() {
    for (const { exchange } of this.#sent) exchange.reset()
    this.#unsent = [...this.#sent, ...this.#unsent]
    this.#sent = []
    this.#bytes = 0
    this.#watch()
    if (this.#unsent.length > 0) this.#schedule()
  }
}
