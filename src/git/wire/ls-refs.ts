import { Readable } from 'node:stream'
import { Turn } from '../../lib/async/yield.js'
import type { RefLine, RefStore } from '../refs/ref-store.js'
import type { Oid } from '../types.js'
import { CHUNK_CHARS, FLUSH, pktLine } from './advertisement.js'

/** The arguments of an `ls-refs` command of protocol 2. */
export interface LsRefsRequest {
  peel: boolean
  symrefs: boolean
  unborn: boolean
  /** Ref name prefixes; empty means all refs. */
  prefixes: string[]
}

/** Follows a chain of tags to its end; null if the object is missing. */
export type Peel = (oid: Oid) => Promise<Oid | null>

const COMMAND = 'command=ls-refs'
/** Above these limits git answers: bytes of the request body, and loose refs, each a file to read. */
const MAX_BODY_BYTES = 65_536
const MAX_LOOSE_REFS = 2_000
/** The refs hidden by `transfer.hideRefs`. */
const HIDDEN_REF = /^[0-9a-f]{40} refs\/(keep-around|roost)(\/|$)/
/** Refs whose objects are peeled concurrently. */
const BATCH_SIZE = 256
/** Branches are not peeled, because git allows only commits there. */
const BRANCH = /^[0-9a-f]{40} refs\/heads\//

/**
 * Looks for an `ls-refs` command in a request body. `request` is null for other commands, and for invalid, unusual or
 * long requests, which git answers. The returned body is complete from its beginning.
 */
export async function readLsRefs(body: Readable): Promise<{ request: LsRefsRequest | null; body: Readable }> {
  let head = Buffer.alloc(0)
  for (;;) {
    const chunk = await nextOf(body)
    if (chunk === null) return { request: null, body: body.readableEnded ? Readable.from([head]) : body }
    head = Buffer.concat([head, chunk])
    const request = head.length > MAX_BODY_BYTES ? 'other' : parseLsRefs(head)
    if (request === 'incomplete') continue
    if (typeof request === 'string') {
      body.unshift(head)
      return { request: null, body }
    }
    body.resume()
    return { request, body: Readable.from([head]) }
  }
}

/** The next chunk of a body; null at the end, if the body was destroyed, and when the signal fires. */
export async function nextOf(body: Readable, signal?: AbortSignal): Promise<Buffer | null> {
  for (;;) {
    if (signal?.aborted) return null
    const chunk = body.read() as Buffer | null
    if (chunk !== null) return chunk
    if (body.readableEnded || body.destroyed) return null
    await new Promise<void>((resolve) => {
      const events = ['readable', 'end', 'error', 'close'] as const
      const more = () => {
        for (const event of events) body.off(event, more)
        signal?.removeEventListener('abort', more)
        resolve()
      }
      for (const event of events) body.on(event, more)
      signal?.addEventListener('abort', more)
    })
  }
}

/** Parses a request body: pkt-lines with the command and capabilities, a delimiter, arguments, a flush. */
export function parseLsRefs(body: Buffer): LsRefsRequest | 'incomplete' | 'other' {
  const request: LsRefsRequest = { peel: false, symrefs: false, unborn: false, prefixes: [] }
  let [first, argument] = [true, false]
  for (let at = 0; ; ) {
    if (body.length < at + 4) return 'incomplete'
    const head = body.toString('latin1', at, at + 4)
    const length = /^[0-9a-f]{4}$/.test(head) ? Number.parseInt(head, 16) : -1
    at += 4
    if (length === 0) return first || at < body.length ? 'other' : request
    if (length === 1 && !first && !argument) {
      argument = true
      continue
    }
    if (length <= 4) return 'other'
    if (body.length < at + length - 4) return 'incomplete'
    const line = body.toString('utf8', at, at + length - 4).replace(/\n$/, '')
    at += length - 4
    if (first ? line !== COMMAND : argument ? !readArgument(request, line) : !/^agent=|^object-format=sha1$/.test(line)) return 'other'
    first = false
  }
}

function readArgument(request: LsRefsRequest, line: string): boolean {
  if (line === 'peel' || line === 'symrefs' || line === 'unborn') request[line] = true
  else if (line.startsWith('ref-prefix ') && !line.includes('\ufffd')) request.prefixes.push(line.slice('ref-prefix '.length))
  else return false
  return true
}

/**
 * The response as git sends it: HEAD, then the refs that are not hidden, in byte order of their names, whether or not
 * their objects exist. Null if only git can answer, see `matching`.
 */
export async function answerLsRefs(refs: RefStore, request: LsRefsRequest, peel: Peel): Promise<AsyncGenerator<Buffer> | null> {
  const found = await refs.matching(request.prefixes.length > 0 ? request.prefixes : [''], MAX_LOOSE_REFS)
  if (!found) return null
  const head = request.prefixes.length === 0 || request.prefixes.some((prefix) => 'HEAD'.startsWith(prefix)) ? await headOf(refs, request, peel) : ''
  return lsRefsChunks(head, found, request.peel, peel)
}

async function headOf(refs: RefStore, { symrefs, unborn, ...request }: LsRefsRequest, peel: Peel): Promise<string> {
  const [target, oid] = [await refs.head(), await refs.ref('HEAD')]
  if (!oid && !(target && symrefs && unborn)) return ''
  const symref = target && symrefs ? ` symref-target:${Buffer.from(target).toString('latin1')}` : ''
  const object = oid && request.peel && !target?.startsWith('refs/heads/') ? await peel(oid) : null
  return pktLine(`${oid ?? 'unborn'} HEAD${symref}${object && object !== oid ? ` peeled:${object}` : ''}\n`)
}

async function* lsRefsChunks(head: string, found: Iterable<RefLine>, withPeeled: boolean, peel: Peel): AsyncGenerator<Buffer> {
  let text = head
  const turn = new Turn()
  for (const batch of batches(found)) {
    const peeledLoose = withPeeled ? await peelLoose(batch, peel) : null
    for (const ref of batch) {
      const peeled = peeledLoose && (ref.loose ? peeledLoose.get(ref) : ref.peeled)
      text += pktLine(peeled && peeled !== ref.oid ? `${ref.line} peeled:${peeled}\n` : `${ref.line}\n`)
    }
    if (text.length >= CHUNK_CHARS) {
      yield Buffer.from(text, 'latin1')
      text = ''
    }
    if (turn.over) await turn.end()
  }
  yield Buffer.from(text + FLUSH, 'latin1')
}

/** The peeled objects of loose refs that are not branches. */
async function peelLoose(refs: RefLine[], peel: Peel): Promise<Map<RefLine, Oid | null>> {
  const request = refs.filter(({ line, loose }) => loose && !BRANCH.test(line))
  return new Map(await Promise.all(request.map(async (ref) => [ref, await peel(ref.oid)] as const)))
}

function* batches(found: Iterable<RefLine>): Generator<RefLine[]> {
  let batch: RefLine[] = []
  for (const ref of found) {
    if (HIDDEN_REF.test(ref.line)) continue
    batch.push(ref)
    if (batch.length < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  yield batch
}
