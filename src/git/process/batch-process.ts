import { GitFault, GitKilled, GitTimeout, gitFailure } from '../errors.js'
import { type GitProcess, kill } from './spawner.js'

/**
 * Returned by an exchange that needs no more of its output: the process is killed, which costs less than reading the
 * rest.
 */
export const STOP_READING = Symbol('stop reading')

/** A request to a long-lived process, and the parser of its response. */
export interface Exchange {
  readonly input: string
  /** Expected size of the response in bytes; requests wait while too many bytes are outstanding. */
  readonly expectedBytes: number
  /** Consumes output. Returns the bytes after the response, or null while the response is incomplete. */
  consume(chunk: Buffer): Buffer | typeof STOP_READING | null
  /** Discards a partial response: the request is repeated with another process. */
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
 * A long-lived git process with pipelined requests, answered in order. It is started on the first request, and
 * restarted when it dies.
 */
export class BatchProcess {
  #child: GitProcess | null = null
  #starting = false
  /** Requests that are sent and unanswered, and requests that are not sent yet. */
  #sent: Pending[] = []
  #unsent: Pending[] = []
  #bytes = 0
  #scheduled = false
  #deadline: NodeJS.Timeout | undefined
  #retired = false

  /** `suffix` is written after each batch of requests, for example a flush command. */
  constructor(
    readonly start: () => Promise<GitProcess>,
    readonly deadline: number,
    readonly suffix = '',
  ) {}

  get idle() {
    return this.#sent.length === 0 && this.#unsent.length === 0
  }

  /** The pid of the current process, if there is one. */
  get pid() {
    return this.#child?.pid
  }

  /** Resolves when the exchange has consumed its response. */
  ask(exchange: Exchange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#unsent.push({ exchange, attempts: 0, resolve, reject })
      this.#schedule()
    })
  }

  /**
   * Ends the process when all requests are answered. A caller that still asks gets a new process, which is ended
   * likewise.
   */
  retire() {
    this.#retired = true
    if (this.idle) this.#child?.stdin?.end()
  }

  /** Sends all requests of one tick in one write. */
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
    child.stdin?.on('error', () => {}) // the process died; `closed` has its exit code
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

  /** Sets the deadline of the oldest request, restarted with each response (SEC-143). */
  #restartDeadline() {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    if (this.#sent.length === 0) return
    this.#deadline = setTimeout(() => {
      this.#sent.shift()?.reject(new GitTimeout('git ran out of time'))
      this.#replaceProcess()
    }, this.deadline)
  }

  /** Kills the process and repeats the open requests with another one. */
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

  /** Allows the request that was being answered one retry; if the process cannot even start, rejects all requests. */
  #onFailure(queue: Pending[], fault: Error) {
    const head = queue[0]
    if (!head || head.attempts++ === 0) return
    const hopeless =
      !(fault instanceof GitFault || fault instanceof GitKilled) || (fault instanceof GitFault && fault.stderr.includes('not a git repository'))
    for (const pending of hopeless ? [...this.#sent.splice(0), ...this.#unsent.splice(0)] : queue.splice(0, 1)) pending.reject(fault)
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
