import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { FairQueue } from '../async/fair-queue.js'
import { Unavailable } from '../unavailable.js'
import { syncDirectory, writeNewFile } from './durable.js'
import {
  type Digest,
  type Inspect,
  isObjectId,
  type ObjectStore,
  type ReceivedObject,
  type StagedObject,
  WrongObject,
  writeHashed,
} from './object-store.js'

/** A bucket of an S3-compatible store. */
export interface BucketSetting {
  bucket: string
  /** Prefix of all object names: empty, or ending with a slash. */
  prefix: string
  region: string
  /** The endpoint of a store other than that of Amazon. */
  endpoint: string | undefined
  /** Undefined to use the default credential chain of the AWS clients. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined
}

type S3 = typeof import('@aws-sdk/client-s3')

/** Bytes of a part of a multipart upload; all parts but the last have this size, and an upload has at most 10,000. */
const PART_BYTES = 8 * 1024 * 1024
const MAX_PARTS = 10_000
/** Limits of the parts that are in memory while they are sent, for all uploads. */
const SEND_LIMITS = { running: 4, waiting: 10_000, wait: 300_000 }
const REFUSALS = { timeout: 'The object storage is too slow', full: 'The object storage is too busy' }
/** Milliseconds until a connection must be made, and until the headers of a response must arrive. */
const CONNECT_TIMEOUT_MS = 5_000
const RESPONSE_TIMEOUT_MS = 100_000
/** More than the number of connections that clients may have open. */
const MAX_SOCKETS = 4_096
/** The name of the local file of an upload, and the suffix of the file that records its multipart upload. */
const SPOOL_NAME = /^[0-9a-f]{32}$/
const NOTE_SUFFIX = '.upload'

/** What is needed to abort a multipart upload. */
interface UploadNote {
  key: string
  id: string
}

interface Bucket extends BucketSetting {
  /** The content of the owner object of this installation. */
  owner: string
  s3: S3
  client: S3Client
  /** The folder for local files of uploads. */
  incoming: string
  sending: FairQueue
}

/**
 * Stores objects in a bucket under the prefix, `ab/cd/` and the rest of the id. An upload collects its bytes in a local
 * file and sends them from there in parts, which become an object only when all bytes have been checked.
 */
export async function objectBucket(setting: BucketSetting, incoming: string, owner: string): Promise<ObjectStore> {
  // loaded on demand, because the module is large and rarely needed
  const s3 = await import('@aws-sdk/client-s3')
  const client = new s3.S3Client({
    region: setting.region,
    ...(setting.credentials && { credentials: setting.credentials }),
    ...(setting.endpoint !== undefined && { endpoint: setting.endpoint, forcePathStyle: true }),
    // many compatible stores do not support the newer checksums; each part is sent with its MD5
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: RESPONSE_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    },
  })
  const store: Bucket = { ...setting, owner, s3, client, incoming, sending: new FairQueue({ ...SEND_LIMITS, refusals: REFUSALS }) }
  const location = (oid: string) => ({ Bucket: setting.bucket, Key: keyOf(store, oid) })
  return {
    stage: (body, oid, limit) => stage(store, body, oid, limit),
    receive: (body, limit, digests, inspect) => receive(store, body, limit, digests, inspect),
    async get(oid, range) {
      const Range = range && `bytes=${range.start}-${range.end}`
      const found = await nullIfMissing(client.send(new s3.GetObjectCommand({ ...location(oid), ...(Range && { Range }) })))
      return (found?.Body as Readable | undefined) ?? null
    },
    size: async (oid) => (await nullIfMissing(client.send(new s3.HeadObjectCommand(location(oid)))))?.ContentLength ?? null,
    claim: () => claim(store),
    async delete(oid) {
      if (!(await claim(store))) throw new Error(`s3://${setting.bucket}/${setting.prefix} holds the objects of another installation`)
      await nullIfMissing(client.send(new s3.DeleteObjectCommand(location(oid))))
    },
    list: () => list(store),
    async leftovers(unchanged) {
      const stale = new Set<string>()
      for (const file of await filesOf(incoming)) {
        const name = file.replace(NOTE_SUFFIX, '')
        const found = await stat(join(incoming, name))
          .catch(() => stat(join(incoming, file)))
          .catch(() => null)
        if (found && Date.now() - found.mtimeMs >= unchanged) stale.add(name)
      }
      return [...stale]
    },
    removeLeftover: (name) => abortUpload(store, name),
    close: () => client.destroy(),
  }
}

const keyOf = ({ prefix }: BucketSetting, oid: string) => {
  if (!isObjectId(oid)) throw new Error('no object id')
  return `${prefix}${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`
}

const filesOf = async (folder: string) =>
  (await readdir(folder).catch(() => [] as string[])).filter((name) => SPOOL_NAME.test(name.replace(NOTE_SUFFIX, ''))).sort()

/** The response, or null if there is no such object or upload; any other error may be temporary. */
async function nullIfMissing<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response
  } catch (error) {
    if (['NotFound', 'NoSuchKey', 'NoSuchUpload'].includes((error as Error).name)) return null
    throw new Unavailable('The object storage cannot be used', 10, { cause: error })
  }
}

/** The name of the object that names the owner of the bucket; no stored object can have it. */
const OWNER_KEY = 'roost-owner'

/** Whether this installation owns the prefix; the first installation that asks becomes the owner. */
async function claim({ client, s3, bucket, prefix, owner }: Bucket): Promise<boolean> {
  const location = { Bucket: bucket, Key: `${prefix}${OWNER_KEY}` }
  const read = async () => {
    const found = await nullIfMissing(client.send(new s3.GetObjectCommand(location)))
    return found ? await found.Body?.transformToString() : null
  }
  const found = await read()
  if (found !== null) return found === owner
  // of two concurrent claims the store keeps one, and both read which
  await client.send(new s3.PutObjectCommand({ ...location, Body: owner, IfNoneMatch: '*' })).catch((error: Error) => {
    if (error.name !== 'PreconditionFailed') throw new Unavailable('The object storage cannot be used', 10, { cause: error })
  })
  return (await read()) === owner
}

async function requireFound<T>(response: Promise<T>): Promise<T> {
  const found = await nullIfMissing(response)
  if (found === null) throw new Unavailable('The upload is not known to the object storage', 10)
  return found
}

async function* list(store: Bucket): AsyncGenerator<{ oid: string; storedAt: number }> {
  const { client, s3, bucket, prefix } = store
  let token: string | undefined
  do {
    const page = await requireFound(
      client.send(new s3.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...(token && { ContinuationToken: token }) })),
    )
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const oid = Key.slice(prefix.length).replaceAll('/', '')
      // anything else in the bucket is not ours
      if (isObjectId(oid) && Key === keyOf(store, oid)) yield { oid, storedAt: LastModified?.getTime() ?? Date.now() }
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (token)
}

/** Removes what an upload has left behind: its parts in the bucket first, so that the record stays while they exist. */
async function abortUpload({ client, s3, bucket, incoming }: Bucket, name: string): Promise<void> {
  const note = join(incoming, `${name}${NOTE_SUFFIX}`)
  const text = await readFile(note, 'utf8').catch(() => null)
  if (text) {
    const { key, id } = JSON.parse(text) as UploadNote
    await nullIfMissing(client.send(new s3.AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id })))
  }
  await rm(note, { force: true })
  await rm(join(incoming, name), { force: true })
}

async function stage(store: Bucket, body: Readable, oid: string, limit: number): Promise<StagedObject> {
  await mkdir(store.incoming, { recursive: true, mode: 0o700 })
  const upload = await Upload.begin(store, keyOf(store, oid))
  try {
    const hash = createHash('sha256')
    const maxBytes = Math.min(limit, PART_BYTES * MAX_PARTS)
    // the connection must stay open for the response
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (upload.size + chunk.length > maxBytes) throw new WrongObject('size')
      hash.update(chunk)
      await upload.write(chunk)
    }
    if (hash.digest('hex') !== oid) throw new WrongObject('digest')
    await upload.end()
  } catch (error) {
    await upload.discard()
    throw error
  }
  return { size: upload.size, commit: () => upload.commit(), discard: () => upload.discard() }
}

/** Collects a body in a local file first, because its key is its digest. */
async function receive(store: Bucket, body: Readable, limit: number, digests: readonly Digest[], inspect?: Inspect): Promise<ReceivedObject> {
  await mkdir(store.incoming, { recursive: true, mode: 0o700 })
  const spool = join(store.incoming, randomBytes(16).toString('hex'))
  try {
    const written = await writeHashed(body, spool, { limit, digests, flush: false })
    await inspect?.(spool)
    return { ...(await stage(store, createReadStream(spool, { highWaterMark: 1 << 18 }), written.oid, limit)), ...written }
  } finally {
    await rm(spool, { force: true })
  }
}

/** An object that is being uploaded. If it fits into one part it is sent on commit. */
class Upload {
  size = 0
  #committed = false
  /** Bytes collected of the current part. */
  #partBytes = 0
  #id: string | undefined
  readonly #parts: { PartNumber: number; ETag: string | undefined }[] = []
  /** The transfer of the previous part. */
  #sent: Promise<void> = Promise.resolve()

  private constructor(
    readonly store: Bucket,
    readonly key: string,
    readonly name: string,
    readonly file: FileHandle,
  ) {}

  static async begin(store: Bucket, key: string): Promise<Upload> {
    const name = randomBytes(16).toString('hex')
    return new Upload(store, key, name, await open(join(store.incoming, name), 'wx+', 0o600))
  }

  /** Start of the current part in the file: one half collects a part while the other is sent. */
  get #partStart(): number {
    return (this.#parts.length % 2) * PART_BYTES
  }

  async write(chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#partBytes === PART_BYTES) await this.#next()
      const fits = rest.subarray(0, PART_BYTES - this.#partBytes)
      await this.file.write(fits, 0, fits.length, this.#partStart + this.#partBytes)
      this.#partBytes += fits.length
      this.size += fits.length
      rest = rest.subarray(fits.length)
    }
  }

  /** Call when all bytes have arrived and have been checked. */
  async end(): Promise<void> {
    if (this.#id !== undefined) await this.#next()
    await this.#sent
  }

  async commit(): Promise<void> {
    if (this.#committed) return
    const { client, s3, bucket } = this.store
    const location = { Bucket: bucket, Key: this.key }
    if (this.#id === undefined) await requireFound(client.send(new s3.PutObjectCommand({ ...location, ...(await this.#read(0, this.#partBytes)) })))
    else {
      const done = await nullIfMissing(
        client.send(new s3.CompleteMultipartUploadCommand({ ...location, UploadId: this.#id, MultipartUpload: { Parts: this.#parts } })),
      )
      // if a response was lost, the client repeats the request
      const there = done ?? (await nullIfMissing(client.send(new s3.HeadObjectCommand(location))))
      if (!there) throw new Unavailable('The upload is not known to the object storage', 10)
    }
    this.#committed = true
  }

  /** Ends the upload; a committed object stays. What cannot be removed now is left to the next sweep. */
  async discard(): Promise<void> {
    await this.#sent.catch(() => {})
    await this.file.close()
    const note = join(this.store.incoming, `${this.name}${NOTE_SUFFIX}`)
    if (this.#committed) await rm(note, { force: true })
    await abortUpload(this.store, this.name).catch(() => {})
  }

  /** Sends the collected part, once the previous one has arrived. */
  async #next(): Promise<void> {
    await this.#sent
    this.#id ??= await this.#open()
    const part: { PartNumber: number; ETag: string | undefined } = { PartNumber: this.#parts.length + 1, ETag: undefined }
    this.#sent = this.#send(part, this.#partStart, this.#partBytes)
    // awaited before anything depends on it
    this.#sent.catch(() => {})
    this.#parts.push(part)
    this.#partBytes = 0
  }

  /** Starts a multipart upload; its id is on disk before the first part is sent. */
  async #open(): Promise<string> {
    const { client, s3, bucket, incoming } = this.store
    const { UploadId: id } = await requireFound(client.send(new s3.CreateMultipartUploadCommand({ Bucket: bucket, Key: this.key })))
    if (id === undefined) throw new Unavailable('The object storage takes no upload in parts', 10)
    await writeNewFile(join(incoming, `${this.name}${NOTE_SUFFIX}`), JSON.stringify({ key: this.key, id } satisfies UploadNote), 0o600)
    await syncDirectory(incoming)
    return id
  }

  async #send(part: { PartNumber: number; ETag: string | undefined }, begin: number, length: number): Promise<void> {
    const { client, s3, bucket, sending } = this.store
    const release = await sending.acquire({})
    try {
      const where = { Bucket: bucket, Key: this.key, UploadId: this.#id, PartNumber: part.PartNumber }
      part.ETag = (await requireFound(client.send(new s3.UploadPartCommand({ ...where, ...(await this.#read(begin, length)) })))).ETag
    } finally {
      release()
    }
  }

  /** Reads bytes of the file, with the MD5 by which the store checks them. */
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
