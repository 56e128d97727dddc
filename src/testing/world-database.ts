import type { Database } from '../db/client.js'

/** The database of a world, whose connections outlive its contexts: each context's listeners go with it. */
export class WorldDatabase {
  readonly facade: Database
  #backListeners: (() => void)[] = []
  #commitListeners: (() => void)[] = []

  constructor(private readonly database: Database) {
    database.onReconnect(() => this.#notify(this.#backListeners))
    database.onCommitted(() => this.#notify(this.#commitListeners))
    this.facade = {
      ...database,
      onReconnect: (listener) => void this.#backListeners.push(listener),
      onCommitted: (listener) => void this.#commitListeners.push(listener),
    }
  }

  forgetListeners(): void {
    this.#backListeners = []
    this.#commitListeners = []
  }

  close(): Promise<void> {
    return this.database.close()
  }

  #notify(listeners: (() => void)[]): void {
    for (const listener of listeners) listener()
  }
}
