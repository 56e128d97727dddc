import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { FairQueue } from '../async/fair-queue.js'
import { Unavailable } from '../unavailable.js'
import { syncDirectory, writeNewFile } from './durable.js'
import { isObjectId, type ObjectStore, type StagedObject, WrongObject } from './object-store.js'

/** A bucket of an S3-compatible store. */
export interface BucketSetting {
  bucket: string
  /** Before the name of each object: empty, or with a slash at its end. */
  prefix: string
  region: string
  /** Of a store that is not Amazon's. */
  endpoint: string | undefined
  /** Undefined: looked for where the AWS clients look. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined
}

type S3 = typeof import('@aws-sdk/client-s3')

/** Bytes of a part of an upload: all but the last have the same, and an upload has at most 10,000. */
const PART = 8 * 1024 * 1024
const MAX_PARTS = 10_000
/** Parts of all uploads that are in memory at a time, on their way to the store. */
const SENDING = { running: 4, waiting: 10_000, wait: 300_000 }
const REFUSALS = { late: 'The object storage is too slow', full: 'The object storage is too busy' }
/** Milliseconds that a connection may take, and an answer's head after the request. */
const CONNECT = 5_000
const ANSWER = 100_000
/** More than the connections that clients may have open. */
const SOCKETS = 4_096
/** The name of what an upload has written here, and of the note about its parts in the bucket. */
const SPOOL = /^[0-9a-f]{32}$/
const NOTE = '.upload'

/** What has to be known to take back an upload in parts. */
interface Note {
  key: string
  id: string
}

interface Store extends BucketSetting {
  /** What the mark of this installation says. */
  owner: string
  s3: S3
  client: S3Client
  /** Where parts are collected and notes are kept. */
  incoming: string
  sending: FairQueue
}

/**
 * Keeps objects in a bucket: `ab/cd/` and the rest of the id, after the prefix. An upload collects its bytes in a file,
 * and sends them from there in parts, which become an object only when all have been checked.
 */
export async function objectBucket(setting: BucketSetting, incoming: string, owner: string): Promise<ObjectStore> {
  // large, and rarely needed
  const s3 = await import('@aws-sdk/client-s3')
  const client = new s3.S3Client({
    region: setting.region,
    ...(setting.credentials && { credentials: setting.credentials }),
    ...(setting.endpoint !== undefined && { endpoint: setting.endpoint, forcePathStyle: true }),
    // many compatible stores do not know the newer checksums; each part goes with its digest
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT,
      requestTimeout: ANSWER,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
    },
  })
  const store: Store = { ...setting, owner, s3, client, incoming, sending: new FairQueue({ ...SENDING, refusals: REFUSALS }) }
  const at = (oid: string) => ({ Bucket: setting.bucket, Key: keyOf(store, oid) })
  return {
    stage: (body, oid, limit) => stage(store, body, oid, limit),
    async get(oid, range) {
      const Range = range && `bytes=${range.start}-${range.end}`
      const found = await orNull(client.send(new s3.GetObjectCommand({ ...at(oid), ...(Range && { Range }) })))
      return (found?.Body as Readable | undefined) ?? null
    },
    size: async (oid) => (await orNull(client.send(new s3.HeadObjectCommand(at(oid)))))?.ContentLength ?? null,
    claim: () => claim(store),
    async delete(oid) {
      if (!(await claim(store))) throw new Error(`s3://${setting.bucket}/${setting.prefix} holds the objects of another installation`)
      await orNull(client.send(new s3.DeleteObjectCommand(at(oid))))
    },
    list: () => list(store),
    async leftovers(unchanged) {
      const stale = new Set<string>()
      for (const file of await filesOf(incoming)) {
        const name = file.replace(NOTE, '')
        const found = await stat(join(incoming, name))
          .catch(() => stat(join(incoming, file)))
          .catch(() => null)
        if (found && Date.now() - found.mtimeMs >= unchanged) stale.add(name)
      }
      return [...stale]
    },
    removeLeftover: (name) => takeBack(store, name),
    close: () => client.destroy(),
  }
}

const keyOf = ({ prefix }: BucketSetting, oid: string) => {
  if (!isObjectId(oid)) throw new Error('no object id')
  return `${prefix}${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`
}

const filesOf = async (folder: string) =>
  (await readdir(folder).catch(() => [] as string[])).filter((name) => SPOOL.test(name.replace(NOTE, ''))).sort()

/** The answer; null where there is no such object or upload; whatever else goes wrong may be over soon. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (['NotFound', 'NoSuchKey', 'NoSuchUpload'].includes((error as Error).name)) return null
    throw new Unavailable('The object storage cannot be used', 10, { cause: error })
  }
}

/** The name of the mark: no object has it. */
const MARK = 'roost-owner'

/** Whether the mark below the prefix is this installation's; the first that asks leaves its own. */
async function claim({ client, s3, bucket, prefix, owner }: Store): Promise<boolean> {
  const at = { Bucket: bucket, Key: `${prefix}${MARK}` }
  const read = async () => {
    const found = await orNull(client.send(new s3.GetObjectCommand(at)))
    return found ? await found.Body?.transformToString() : null
  }
  const found = await read()
  if (found !== null) return found === owner
  // of two that ask at once the store takes one, or the later, and both read which
  await client.send(new s3.PutObjectCommand({ ...at, Body: owner, IfNoneMatch: '*' })).catch((error: Error) => {
    if (error.name !== 'PreconditionFailed') throw new Unavailable('The object storage cannot be used', 10, { cause: error })
  })
  return (await read()) === owner
}

async function asked<T>(answer: Promise<T>): Promise<T> {
  const found = await orNull(answer)
  if (found === null) throw new Unavailable('The upload is not known to the object storage', 10)
  return found
}

async function* list(store: Store): AsyncGenerator<{ oid: string; keptAt: number }> {
  const { client, s3, bucket, prefix } = store
  let token: string | undefined
  do {
    const page = await asked(client.send(new s3.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...(token && { ContinuationToken: token }) })))
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const oid = Key.slice(prefix.length).replaceAll('/', '')
      // anything else in the bucket is somebody else's
      if (isObjectId(oid) && Key === keyOf(store, oid)) yield { oid, keptAt: LastModified?.getTime() ?? Date.now() }
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (token)
}

/** Removes what an upload has left: its parts in the bucket first, so that the note stays while they are there. */
async function takeBack({ client, s3, bucket, incoming }: Store, name: string): Promise<void> {
  const note = join(incoming, `${name}${NOTE}`)
  const text = await readFile(note, 'utf8').catch(() => null)
  if (text) {
    const { key, id } = JSON.parse(text) as Note
    await orNull(client.send(new s3.AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id })))
  }
  await rm(note, { force: true })
  await rm(join(incoming, name), { force: true })
}

async function stage(store: Store, body: Readable, oid: string, limit: number): Promise<StagedObject> {
  await mkdir(store.incoming, { recursive: true, mode: 0o700 })
  const upload = await Upload.begin(store, keyOf(store, oid))
  try {
    const hash = createHash('sha256')
    const most = Math.min(limit, PART * MAX_PARTS)
    // whoever sent it still gets an answer
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (upload.size + chunk.length > most) throw new WrongObject('size')
      hash.update(chunk)
      await upload.write(chunk)
    }
    if (hash.digest('hex') !== oid) throw new WrongObject('digest')
    await upload.end()
  } catch (error) {
    await upload.discard()
    throw error
  }
  return { size: upload.size, keep: () => upload.keep(), discard: () => upload.discard() }
}

/** One object on its way into the bucket. What fits into one part is sent when it is kept. */
class Upload {
  size = 0
  #kept = false
  /** Bytes of the part that is being collected. */
  #filled = 0
  #id: string | undefined
  readonly #parts: { PartNumber: number; ETag: string | undefined }[] = []
  /** The part before, on its way. */
  #sent: Promise<void> = Promise.resolve()

  private constructor(
    readonly store: Store,
    readonly key: string,
    readonly name: string,
    readonly file: FileHandle,
  ) {}

  static async begin(store: Store, key: string): Promise<Upload> {
    const name = randomBytes(16).toString('hex')
    return new Upload(store, key, name, await open(join(store.incoming, name), 'wx+', 0o600))
  }

  /** Two parts take turns in the file: one is collected while the other is sent. */
  get #begins(): number {
    return (this.#parts.length % 2) * PART
  }

  async write(chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#filled === PART) await this.#next()
      const fits = rest.subarray(0, PART - this.#filled)
      await this.file.write(fits, 0, fits.length, this.#begins + this.#filled)
      this.#filled += fits.length
      this.size += fits.length
      rest = rest.subarray(fits.length)
    }
  }

  /** All bytes have come, and are right. */
  async end(): Promise<void> {
    if (this.#id !== undefined) await this.#next()
    await this.#sent
  }

  async keep(): Promise<void> {
    if (this.#kept) return
    const { client, s3, bucket } = this.store
    const at = { Bucket: bucket, Key: this.key }
    if (this.#id === undefined) await asked(client.send(new s3.PutObjectCommand({ ...at, ...(await this.#read(0, this.#filled)) })))
    else {
      const done = await orNull(
        client.send(new s3.CompleteMultipartUploadCommand({ ...at, UploadId: this.#id, MultipartUpload: { Parts: this.#parts } })),
      )
      // an answer that was lost makes the client ask twice
      const there = done ?? (await orNull(client.send(new s3.HeadObjectCommand(at))))
      if (!there) throw new Unavailable('The upload is not known to the object storage', 10)
    }
    this.#kept = true
  }

  /** Ends it; what was kept stays. What cannot be taken back now is left to the next sweep. */
  async discard(): Promise<void> {
    await this.#sent.catch(() => {})
    await this.file.close()
    const note = join(this.store.incoming, `${this.name}${NOTE}`)
    if (this.#kept) await rm(note, { force: true })
    await takeBack(this.store, this.name).catch(() => {})
  }

  /** Sends the part that was collected, once the one before has arrived. */
  async #next(): Promise<void> {
    await this.#sent
    this.#id ??= await this.#open()
    const part: { PartNumber: number; ETag: string | undefined } = { PartNumber: this.#parts.length + 1, ETag: undefined }
    this.#sent = this.#send(part, this.#begins, this.#filled)
    // it is waited for before anything follows from it
    this.#sent.catch(() => {})
    this.#parts.push(part)
    this.#filled = 0
  }

  /** The id of an upload in parts, which is on the disk before the first part is sent. */
  async #open(): Promise<string> {
    const { client, s3, bucket, incoming } = this.store
    const { UploadId: id } = await asked(client.send(new s3.CreateMultipartUploadCommand({ Bucket: bucket, Key: this.key })))
    if (id === undefined) throw new Unavailable('The object storage takes no upload in parts', 10)
    await writeNewFile(join(incoming, `${this.name}${NOTE}`), JSON.stringify({ key: this.key, id } satisfies Note), 0o600)
    await syncDirectory(incoming)
    return id
  }

  async #send(part: { PartNumber: number; ETag: string | undefined }, begin: number, length: number): Promise<void> {
    const { client, s3, bucket, sending } = this.store
    const release = await sending.acquire({})
    try {
      const where = { Bucket: bucket, Key: this.key, UploadId: this.#id, PartNumber: part.PartNumber }
      part.ETag = (await asked(client.send(new s3.UploadPartCommand({ ...where, ...(await this.#read(begin, length)) })))).ETag
    } finally {
      release()
    }
  }

  /** Bytes of the file, with the digest by which the store checks them. */
  async #read(begin: number, length: number): Promise<{ Body: Buffer; ContentLength: number; ContentMD5: string }> {
    const Body = Buffer.alloc(length)
    let read = 0
    while (read < length) {
      const { bytesRead } = await this.file.read(Body, read, length - read, begin + read)
      if (bytesRead === 0) throw new Error('the file of an upload is shorter than what was written to it')
      read += bytesRead
    }
    return { Body, ContentLength: length, ContentMD5: createHash('md5').update(Body).digest('base64') }
  }
}
