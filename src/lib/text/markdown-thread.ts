import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { Unavailable } from '../unavailable.js'
import type { NamedLinks } from './markdown.js'

/** HTML that is kept, in characters: the mails about one event follow each other. */
const MAX_KEPT_CHARACTERS = 2_000_000
/** Texts that may wait. */
const MAX_WAITING = 32
/** How long the thread stays without work, and how long one text may take, in milliseconds. */
const IDLE_TIMEOUT_MS = 10_000
const RENDER_TIMEOUT_MS = 10_000

/** What the thread is asked for: Markdown, or the source of a program. */
export type Message = { text: string; links: NamedLinks } | { source: string; language: string }

interface Waiting {
  resolve(html: string): void
  reject(error: Error): void
}

/** Renders Markdown, and marks the syntax of programs, in a thread of its own, a text once for all who ask for it within a short time (SEC-145). */
export class MarkdownThread {
  readonly #kept = new LRUCache<string, string>({ maxSize: MAX_KEPT_CHARACTERS, sizeCalculation: (html, key) => html.length + key.length + 1 })
  readonly #rendering = new Map<string, Promise<string>>()
  readonly #waiting = new Map<number, Waiting>()
  #thread: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #lastId = 0

  /** `program` is the bundle of `services/markdown/entry.ts`. */
  constructor(private readonly program: URL) {}

  /** `links`: what the references in the text become, by their names. */
  async html(text: string, links: NamedLinks = {}): Promise<string> {
    return this.#once(`${JSON.stringify(links)} ${text}`, { text, links })
  }

  /**
   * The lines of a source as HTML with marks for its language, as `highlightLines`; null for an unknown language, and for
   * a source that takes too long.
   */
  async lines(source: string, language: string): Promise<string[] | null> {
    const html = await this.#once(`${language}: ${source}`, { source, language }).catch((error: unknown) => {
      if (error instanceof Unavailable) return ''
      throw error
    })
    return html === '' ? null : html.split('\n')
  }

  /** Renders once for all who ask for the same. */
  async #once(key: string, message: Message): Promise<string> {
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const known = this.#rendering.get(key)
    if (known) return known
    if (this.#waiting.size >= MAX_WAITING) throw new Unavailable('too many texts wait to be rendered')
    const rendering = this.#render(message).finally(() => this.#rendering.delete(key))
    this.#rendering.set(key, rendering)
    const html = await rendering
    this.#kept.set(key, html)
    return html
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#thread?.terminate()
  }

  #render(message: Message): Promise<string> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#thread ??= this.#start()
      this.#thread.postMessage({ id, ...message })
      this.#endAfter(RENDER_TIMEOUT_MS)
    })
  }

  #start(): Worker {
    // without the loaders and the environment of the process
    const thread = new Worker(this.program, { execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 } })
    thread.unref()
    thread.on('message', ({ id, html }: { id: number; html: string }) => {
      this.#waiting.get(id)?.resolve(html)
      this.#waiting.delete(id)
      this.#endAfter(this.#waiting.size === 0 ? IDLE_TIMEOUT_MS : RENDER_TIMEOUT_MS)
    })
    thread.on('error', () => undefined) // what waits fails on the exit event
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
      for (const { reject } of this.#waiting.values()) reject(new Unavailable('a text could not be rendered'))
      this.#waiting.clear()
    })
    return thread
  }

  /** Ends the thread if nothing happens for so long: it has no work, or a text takes too long. */
  #endAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    const thread = this.#thread
    this.#timer = setTimeout(() => void thread?.terminate(), milliseconds).unref()
  }
}
