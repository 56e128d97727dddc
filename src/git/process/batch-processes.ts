import { CatFile } from '../objects/cat-file.js'
import type { ProcessPool } from './pool.js'

interface Retirable {
  retire(): void
  batchProcess: { idle: boolean }
}

interface RepositoryProcesses {
  used: number
  processes: Map<string, Retirable>
}

/** Number of repositories whose processes are kept, and milliseconds after which idle ones are ended. */
export const BATCH_LIMITS = { repositories: 32, idle: 30_000 }

/**
 * Keeps the long-lived processes of the most recently used repositories; others are ended when idle or when there are
 * too many.
 */
export class BatchProcesses {
  readonly #entries = new Map<string, RepositoryProcesses>()
  readonly #sweep: NodeJS.Timeout

  constructor(
    readonly pool: ProcessPool,
    readonly limits = BATCH_LIMITS,
  ) {
    this.#sweep = setInterval(() => this.#retireIdle(), Math.max(limits.idle / 6, 10))
    this.#sweep.unref()
  }

  catFile(directory: string): CatFile {
    return this.process(directory, 'cat-file', () => new CatFile(this.pool, directory))
  }

  /** The repository's process with this name, created on first use. */
  process<T extends Retirable>(directory: string, name: string, make: () => T): T {
    const entry = this.#entries.get(directory) ?? { used: 0, processes: new Map() }
    entry.used = performance.now()
    this.#entries.delete(directory)
    this.#entries.set(directory, entry) // keeps the map in order of use
    const process = (entry.processes.get(name) as T | undefined) ?? make()
    entry.processes.set(name, process)
    for (const [other] of this.#entries) {
      if (this.#entries.size <= this.limits.repositories) break
      this.forget(other)
    }
    return process
  }

  /** Ends a repository's processes when they have answered their requests. */
  forget(directory: string) {
    for (const process of this.#entries.get(directory)?.processes.values() ?? []) process.retire()
    this.#entries.delete(directory)
  }

  close() {
    clearInterval(this.#sweep)
    for (const directory of [...this.#entries.keys()]) this.forget(directory)
  }

  #retireIdle() {
    for (const [directory, { used, processes }] of this.#entries) {
      const busy = [...processes.values()].some(({ batchProcess }) => !batchProcess.idle)
      if (!busy && performance.now() - used > this.limits.idle) this.forget(directory)
    }
  }
}
