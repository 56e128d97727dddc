import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished, Readable } from 'node:stream'

/** Makes the bytes of a file, as fast as they are read: fails before the first of them, or gives a stream. */
export type Make = (signal: AbortSignal) => Promise<Readable>

export interface CachedFile {
  /** Null: it is still being made. */
  size: number | null
  stream: Readable
}

interface Deferred {
  promise: Promise<void>
  resolve(): void
  reject(fault: unknown): void
}

/** A file that is being made, and read meanwhile. */
interface Making {
  name: string
  /** Undefined until the first byte is there. */
  file: FileHandle | undefined
  written: number
  /** `spilled`: it is not kept, and whoever reads it makes the rest for themselves. */
  state: 'making' | 'made' | 'failed' | 'spilled'
  fault: unknown
  readers: number
  stop: AbortController
  begun: Promise<void>
  /** Settles with the next change. */
  changed: Deferred
}

/** Bytes read at once. */
const CHUNK = 64 * 1024
/** Milliseconds without a byte taken after which a reader is left. */
const STALLED = 30_000
/** Milliseconds after which a file that nobody writes to was left behind by a process that is gone. */
const LEFT = 600_000
/** Milliseconds between two notes that a file was used. */
const NOTED = 60_000
const FILES = 10_000
/** Names of files that are not kept, because they were too large. */
const SPILLED = 1_000

/**
 * Files in a folder that are made once, however many ask for them meanwhile, and kept in a bounded number of bytes, of
 * which those that were not used for longest go first. A file appears under its name when it is whole and on the disk,
 * so nobody reads half of one after a crash. Several processes may share the folder.
 */
export class FileCache {
  readonly #making = new Map<string, Making>()
  readonly #runs = new Set<Promise<unknown>>()
  readonly #spilled = new Set<string>()
  #pending = 0
  /** Bytes and files that were added since the folder was last looked through. */
  #unseen = { bytes: 0, files: 0 }
  #sweeping: Promise<void> | undefined

  /** `bytes`: of everything in the folder, of which each of `processes` adds its share; 0: nothing is kept. */
  constructor(
    private readonly root: string,
    private readonly bytes: number,
    private readonly processes: number,
  ) {}

  /**
   * The file of this name, `folder/name`; or made now, with whoever else wants it. `make` must give the same bytes each
   * time. Stops making when nobody reads it any more.
   */
  async read(name: string, make: Make, signal: AbortSignal): Promise<CachedFile> {
    const kept = await this.#open(name)
    if (kept) return kept
    if (this.bytes === 0 || this.#spilled.has(name)) return { size: null, stream: await make(signal) }
    const others = this.#making.get(name)
    if (others) {
      const stream = await this.#join(others, make, signal).catch(() => null)
      signal.throwIfAborted()
      // what refused another caller, such as their full queue, need not refuse this one
      if (stream) return { size: null, stream }
    }
    const making = this.#making.get(name) ?? this.#start(name, make)
    return { size: null, stream: await this.#join(making, make, signal) }
  }

  async #open(name: string): Promise<CachedFile | null> {
    const file = await open(join(this.root, name), 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (!file) return null
    const { size, mtimeMs, atime } = await file.stat()
    // the time of its last use; reading alone need not change one
    if (Date.now() - mtimeMs > NOTED) await file.utimes(atime, new Date()).catch(() => undefined)
    return { size, stream: file.createReadStream({ highWaterMark: 4 * CHUNK }) }
  }

  #start(name: string, make: Make): Making {
    const begun = deferred()
    const making: Making = {
      ...{ name, file: undefined, written: 0, state: 'making', fault: undefined, readers: 0 },
      ...{ stop: new AbortController(), begun: begun.promise, changed: deferred() },
    }
    this.#making.set(name, making)
    const run = this.#make(name, making, make, begun.resolve).catch((fault: unknown) => {
      making.state = 'failed'
      making.fault = fault
      begun.reject(fault)
    })
    const whole = run.finally(() => {
      this.#forget(making)
      this.#pending -= making.written
      wake(making)
      closeUnread(making)
      this.#runs.delete(whole)
    })
    this.#runs.add(whole)
    return making
  }

  #forget(making: Making) {
    if (this.#making.get(making.name) === making) this.#making.delete(making.name)
  }

  async #make(name: string, making: Making, make: Make, begin: () => void): Promise<void> {
    const stream = await make(making.stop.signal)
    const aside = join(this.root, 'incoming', randomBytes(16).toString('hex'))
    try {
      await mkdir(dirname(aside), { recursive: true, mode: 0o700 })
      const file = await open(aside, 'wx+', 0o600)
      making.file = file
      begin()
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        if (!this.#hasRoom(making, chunk.length)) {
          this.#spill(name, making)
          return
        }
        await file.appendFile(chunk)
        making.written += chunk.length
        this.#pending += chunk.length
        wake(making)
      }
      await file.sync()
      await this.#place(aside, name, making.written)
      making.state = 'made'
    } catch (fault) {
      // without a disk to write to it is sent all the same
      if (!isOfDisk(fault)) throw fault
      begin()
      this.#spill(name, making)
    } finally {
      stream.destroy()
      if (making.state !== 'made') await rm(aside, { force: true }).catch(() => undefined)
    }
  }

  /** A quarter of all bytes is for what is being made, and half of that for one file. */
  #hasRoom({ written }: Making, more: number): boolean {
    return written + more <= this.bytes / 8 && this.#pending + more <= this.bytes / 4 / this.processes
  }

  #spill(name: string, making: Making) {
    making.state = 'spilled'
    if (this.#spilled.size >= SPILLED) this.#spilled.clear()
    if (making.written > this.bytes / 16) this.#spilled.add(name)
  }

  async #place(aside: string, name: string, size: number): Promise<void> {
    this.#unseen.bytes += size
    this.#unseen.files++
    if (this.#unseen.bytes > this.bytes / 10 / this.processes || this.#unseen.files > FILES / 10 / this.processes) await this.sweep()
    const place = join(this.root, name)
    const put = async () => {
      await mkdir(dirname(place), { recursive: true, mode: 0o700 })
      await rename(aside, place)
    }
    // its folder may have been empty, and removed
    await put().catch(put)
  }

  async #join(making: Making, make: Make, signal: AbortSignal): Promise<Readable> {
    making.readers++
    const leave = () => {
      making.readers--
      if (making.readers === 0 && making.state === 'making') {
        making.stop.abort(new Error('nobody reads it any more'))
        // at once: whoever comes before it has ended would be cut off with it
        this.#forget(making)
      }
      closeUnread(making)
    }
    const gone = deferred()
    const left = () => gone.reject(signal.reason)
    signal.addEventListener('abort', left, { once: true })
    const end = () => {
      signal.removeEventListener('abort', left)
      leave()
    }
    try {
      signal.throwIfAborted()
      await Promise.race([making.begun, gone.promise])
    } catch (fault) {
      end()
      throw fault
    }
    const taken = () => void timer.refresh()
    const stream = Readable.from(follow(making, { make: () => make(signal), gone: gone.promise, taken }), { objectMode: false })
    const timer = setTimeout(() => stream.destroy(new Error('nobody reads the file')), STALLED)
    finished(stream, () => {
      clearTimeout(timer)
      end()
    })
    return stream
  }

  /** Removes the files that were used least recently until there is room for more, and what killed processes left. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    return this.#sweeping
  }

  async #sweep(): Promise<void> {
    const seen = this.#unseen
    this.#unseen = { bytes: 0, files: 0 }
    const found: { path: string; size: number; used: number }[] = []
    for (const folder of await namesIn(this.root)) {
      for (const name of await namesIn(join(this.root, folder))) {
        const path = join(this.root, folder, name)
        const about = await stat(path).catch(() => null)
        if (!about?.isFile()) continue
        if (folder !== 'incoming') found.push({ path, size: about.size, used: about.mtimeMs })
        else if (Date.now() - about.mtimeMs > LEFT) await rm(path, { force: true })
      }
    }
    found.sort((a, b) => a.used - b.used)
    let bytes = found.reduce((sum, { size }) => sum + size, seen.bytes)
    let files = found.length + seen.files
    for (const { path, size } of found) {
      if (bytes <= this.bytes * 0.65 && files <= FILES) break
      await unlink(path).catch(() => undefined)
      bytes -= size
      files--
    }
    for (const folder of (await namesIn(this.root)).filter((name) => name !== 'incoming')) await rmdir(join(this.root, folder)).catch(() => undefined)
  }

  /** Removes all files of a folder. */
  async drop(folder: string): Promise<void> {
    await rm(join(this.root, folder), { recursive: true, force: true })
  }

  /** Gives up what is being made. */
  async close(): Promise<void> {
    for (const { stop } of this.#making.values()) stop.abort(new Error('the service is stopping'))
    await Promise.all([...this.#runs, this.#sweeping])
  }
}

/** How a reader gets on: makes the bytes for itself, leaves, and has taken some. */
interface Reader {
  make(): Promise<Readable>
  gone: Promise<void>
  taken(): void
}

/** The bytes of a file from its first one, while it is being made. */
async function* follow(making: Making, { make, gone, taken }: Reader) {
  let at = 0
  for (;;) {
    const { file, written, changed } = making
    if (file && at < written) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK, written - at)), 0, Math.min(CHUNK, written - at), at)
      at += bytesRead
      taken()
      yield buffer.subarray(0, bytesRead)
    } else if (making.state === 'making') await Promise.race([changed.promise, gone])
    else if (making.state === 'failed') throw making.fault
    else if (making.state === 'made') return
    else break
  }
  let skipped = 0
  for await (const chunk of (await make()) as AsyncIterable<Buffer>) {
    const rest = chunk.subarray(Math.min(chunk.length, at - skipped))
    skipped += chunk.length - rest.length
    taken()
    if (rest.length > 0) yield rest
  }
}

function deferred(): Deferred {
  let settle: Pick<Deferred, 'resolve' | 'reject'> | undefined
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // nobody may be waiting when it is rejected
  promise.catch(() => undefined)
  return { promise, ...(settle as Pick<Deferred, 'resolve' | 'reject'>) }
}

function wake(making: Making) {
  making.changed.resolve()
  making.changed = deferred()
}

function closeUnread(making: Making) {
  if (making.readers > 0 || making.state === 'making') return
  making.file?.close().catch(() => undefined)
  making.file = undefined
}

const isOfDisk = (fault: unknown) =>
  typeof (fault as NodeJS.ErrnoException).syscall === 'string' && !(fault as NodeJS.ErrnoException).syscall?.startsWith('spawn')

const namesIn = (path: string) => readdir(path).catch(() => [])
