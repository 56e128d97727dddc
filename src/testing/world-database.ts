import type { Database } from '../db/client.js'

/** The database of a world, whose connections outlive its contexts: each context's listeners go with it. */
export class WorldDatabase {
  readonly facade: Database
  #back: (() => void)[] = []
  #committed: (() => void)[] = []

  constructor(private readonly database: Database) {
    database.onReconnect(() => this.#tell(this.#back))
    database.onCommitted(() => this.#tell(this.#committed))
    this.facade = {
      ...database,
      onReconnect: (listener) => void this.#back.push(listener),
      onCommitted: (listener) => void this.#committed.push(listener),
    }
  }

  forgetListeners(): void {
    this.#back = []
    this.#committed = []
  }

  close(): Promise<void> {
    return this.database.close()
  }

  #tell(listeners: (() => void)[]): void {
    for (const listener of listeners) listener()
  }
}
