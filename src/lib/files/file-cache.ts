import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished, Readable } from 'node:stream'

/** Produces the bytes of a file as fast as they are read. Rejects before the first byte, or returns a stream. */
export type Make = (signal: AbortSignal) => Promise<Readable>

export interface CachedFile {
  /** Null while the file is still being made. */
  size: number | null
  stream: Readable
}

interface Deferred {
  promise: Promise<void>
  resolve(): void
  reject(fault: unknown): void
}

/** A file that is being made and read at the same time. */
interface PendingFile {
  name: string
  /** Undefined until the file has been opened. */
  file: FileHandle | undefined
  written: number
  /** `spilled`: it is not cached, and each reader makes the rest again. */
  state: 'making' | 'made' | 'failed' | 'spilled'
  fault: unknown
  readers: number
  stop: AbortController
  begun: Promise<void>
  /** Resolves with the next change. */
  changed: Deferred
}

/** Bytes that are read at once. */
const CHUNK_BYTES = 64 * 1024
/** Milliseconds without progress after which a reader is disconnected. */
const READER_TIMEOUT_MS = 30_000
/** Milliseconds without a write after which a temporary file counts as left behind by a killed process. */
const STALE_MS = 600_000
/** Minimum interval between updates of the last use of a file, in milliseconds. */
const TOUCH_INTERVAL_MS = 60_000
const MAX_FILES = 10_000
/** Remembered names of files that were too large to cache. */
const MAX_SPILLED = 1_000

/**
 * A cache of files in a folder. Each file is made once for all concurrent readers; the total size is bounded, and the
 * least recently used files are removed first. A file gets its name when it is complete and on disk, so that no reader
 * sees a partial one after a crash. Several processes may share the folder.
 */
export class FileCache {
  readonly #pendingFiles = new Map<string, PendingFile>()
  readonly #runs = new Set<Promise<unknown>>()
  readonly #spilled = new Set<string>()
  #pendingBytes = 0
  /** Bytes and files that were added since the last sweep. */
  #added = { bytes: 0, files: 0 }
  #sweeping: Promise<void> | undefined

  /** `bytes` limits the size of the folder, of which each of `processes` adds its share; 0 disables the cache. */
  constructor(
    private readonly root: string,
    private readonly bytes: number,
    private readonly processes: number,
  ) {}

  /**
   * Returns the file of this name (`folder/name`), which is made if necessary, shared with concurrent readers. `make`
   * must produce the same bytes each time, and is aborted when there is no reader left.
   */
  async read(name: string, make: Make, signal: AbortSignal): Promise<CachedFile> {
    const cached = await this.#open(name)
    if (cached) return cached
    if (this.bytes === 0 || this.#spilled.has(name)) return { size: null, stream: await make(signal) }
    const running = this.#pendingFiles.get(name)
    if (running) {
      const stream = await this.#join(running, make, signal).catch(() => null)
      signal.throwIfAborted()
      // an error of another caller, such as its full queue, need not apply to this one
      if (stream) return { size: null, stream }
    }
    const pending = this.#pendingFiles.get(name) ?? this.#start(name, make)
    return { size: null, stream: await this.#join(pending, make, signal) }
  }

  async #open(name: string): Promise<CachedFile | null> {
    const file = await open(join(this.root, name), 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (!file) return null
    const { size, mtimeMs, atime } = await file.stat()
    // mtime is the time of the last use; reading alone may not update any timestamp
    if (Date.now() - mtimeMs > TOUCH_INTERVAL_MS) await file.utimes(atime, new Date()).catch(() => undefined)
    return { size, stream: file.createReadStream({ highWaterMark: 4 * CHUNK_BYTES }) }
  }

  #start(name: string, make: Make): PendingFile {
    const begun = deferred()
    const pending: PendingFile = {
      name,
      file: undefined,
      written: 0,
      state: 'making',
      fault: undefined,
      readers: 0,
      stop: new AbortController(),
      begun: begun.promise,
      changed: deferred(),
    }
    this.#pendingFiles.set(name, pending)
    const run = this.#make(name, pending, make, begun.resolve).catch((fault: unknown) => {
      pending.state = 'failed'
      pending.fault = fault
      begun.reject(fault)
    })
    const whole = run.finally(() => {
      this.#forget(pending)
      this.#pendingBytes -= pending.written
      wake(pending)
      closeUnread(pending)
      this.#runs.delete(whole)
    })
    this.#runs.add(whole)
    return pending
  }

  #forget(pending: PendingFile) {
    if (this.#pendingFiles.get(pending.name) === pending) this.#pendingFiles.delete(pending.name)
  }

  async #make(name: string, pending: PendingFile, make: Make, begin: () => void): Promise<void> {
    const stream = await make(pending.stop.signal)
    const temporary = join(this.root, 'incoming', randomBytes(16).toString('hex'))
    try {
      await mkdir(dirname(temporary), { recursive: true, mode: 0o700 })
      const file = await open(temporary, 'wx+', 0o600)
      pending.file = file
      begin()
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        if (!this.#hasRoom(pending, chunk.length)) {
          this.#spill(name, pending)
          return
        }
        await file.appendFile(chunk)
        pending.written += chunk.length
        this.#pendingBytes += chunk.length
        wake(pending)
      }
      await file.sync()
      await this.#place(temporary, name, pending.written)
      pending.state = 'made'
    } catch (fault) {
      // if the disk fails, the content is still sent
      if (!isDiskError(fault)) throw fault
      begin()
      this.#spill(name, pending)
    } finally {
      stream.destroy()
      if (pending.state !== 'made') await rm(temporary, { force: true }).catch(() => undefined)
    }
  }

  /** At most a quarter of all bytes is for pending files, and half of that for one file. */
  #hasRoom({ written }: PendingFile, more: number): boolean {
    return written + more <= this.bytes / 8 && this.#pendingBytes + more <= this.bytes / 4 / this.processes
  }

  #spill(name: string, pending: PendingFile) {
    pending.state = 'spilled'
    if (this.#spilled.size >= MAX_SPILLED) this.#spilled.clear()
    if (pending.written > this.bytes / 16) this.#spilled.add(name)
  }

  async #place(temporary: string, name: string, size: number): Promise<void> {
    this.#added.bytes += size
    this.#added.files++
    if (this.#added.bytes > this.bytes / 10 / this.processes || this.#added.files > MAX_FILES / 10 / this.processes) await this.sweep()
    const path = join(this.root, name)
    const move = async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await rename(temporary, path)
    }
    // retried once, because a sweep may have removed the empty folder
    await move().catch(move)
  }

  async #join(pending: PendingFile, make: Make, signal: AbortSignal): Promise<Readable> {
    pending.readers++
    const leave = () => {
      pending.readers--
      if (pending.readers === 0 && pending.state === 'making') {
        pending.stop.abort(new Error('nobody reads it any more'))
        // immediately: a caller that joins it now would be aborted with it
        this.#forget(pending)
      }
      closeUnread(pending)
    }
    const aborted = deferred()
    const onAbort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const end = () => {
      signal.removeEventListener('abort', onAbort)
      leave()
    }
    try {
      signal.throwIfAborted()
      await Promise.race([pending.begun, aborted.promise])
    } catch (fault) {
      end()
      throw fault
    }
    const onProgress = () => void timer.refresh()
    const stream = Readable.from(streamPending(pending, { make: () => make(signal), aborted: aborted.promise, onProgress }), { objectMode: false })
    const timer = setTimeout(() => stream.destroy(new Error('nobody reads the file')), READER_TIMEOUT_MS)
    finished(stream, () => {
      clearTimeout(timer)
      end()
    })
    return stream
  }

  /** Removes the least recently used files until there is room, and temporary files of killed processes. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    return this.#sweeping
  }

  async #sweep(): Promise<void> {
    const seen = this.#added
    this.#added = { bytes: 0, files: 0 }
    const found: { path: string; size: number; used: number }[] = []
    for (const folder of await listNames(this.root)) {
      for (const name of await listNames(join(this.root, folder))) {
        const path = join(this.root, folder, name)
        const info = await stat(path).catch(() => null)
        if (!info?.isFile()) continue
        if (folder !== 'incoming') found.push({ path, size: info.size, used: info.mtimeMs })
        else if (Date.now() - info.mtimeMs > STALE_MS) await rm(path, { force: true })
      }
    }
    found.sort((a, b) => a.used - b.used)
    let bytes = found.reduce((sum, { size }) => sum + size, seen.bytes)
    let files = found.length + seen.files
    for (const { path, size } of found) {
      if (bytes <= this.bytes * 0.65 && files <= MAX_FILES) break
      await unlink(path).catch(() => undefined)
      bytes -= size
      files--
    }
    for (const folder of (await listNames(this.root)).filter((name) => name !== 'incoming'))
      await rmdir(join(this.root, folder)).catch(() => undefined)
  }

  /** Removes all files of a folder. */
  async drop(folder: string): Promise<void> {
    await rm(join(this.root, folder), { recursive: true, force: true })
  }

  /** Aborts pending files. */
  async close(): Promise<void> {
    for (const { stop } of this.#pendingFiles.values()) stop.abort(new Error('the service is stopping'))
    await Promise.all([...this.#runs, this.#sweeping])
  }
}

/** Callbacks of a reader: makes the bytes again, rejects when it leaves, and reports progress. */
interface ReaderCallbacks {
  make(): Promise<Readable>
  aborted: Promise<void>
  onProgress(): void
}

/** Streams a file from its beginning while it is being made. */
async function* streamPending(pending: PendingFile, { make, aborted, onProgress }: ReaderCallbacks) {
  let at = 0
  for (;;) {
    const { file, written, changed } = pending
    if (file && at < written) {
      const { buffer, bytesRead } = await file.read(
        Buffer.allocUnsafe(Math.min(CHUNK_BYTES, written - at)),
        0,
        Math.min(CHUNK_BYTES, written - at),
        at,
      )
      at += bytesRead
      onProgress()
      yield buffer.subarray(0, bytesRead)
    } else if (pending.state === 'making') await Promise.race([changed.promise, aborted])
    else if (pending.state === 'failed') throw pending.fault
    else if (pending.state === 'made') return
    else break
  }
  let skipped = 0
  for await (const chunk of (await make()) as AsyncIterable<Buffer>) {
    const rest = chunk.subarray(Math.min(chunk.length, at - skipped))
    skipped += chunk.length - rest.length
    onProgress()
    if (rest.length > 0) yield rest
  }
}

function deferred(): Deferred {
  let settle: Pick<Deferred, 'resolve' | 'reject'> | undefined
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // it may be rejected without a listener
  promise.catch(() => undefined)
  return { promise, ...(settle as Pick<Deferred, 'resolve' | 'reject'>) }
}

function wake(pending: PendingFile) {
  pending.changed.resolve()
  pending.changed = deferred()
}

function closeUnread(pending: PendingFile) {
  if (pending.readers > 0 || pending.state === 'making') return
  pending.file?.close().catch(() => undefined)
  pending.file = undefined
}

const isDiskError = (fault: unknown) =>
  typeof (fault as NodeJS.ErrnoException).syscall === 'string' && !(fault as NodeJS.ErrnoException).syscall?.startsWith('spawn')

const listNames = (path: string) => readdir(path).catch(() => [])
