import { Readable } from 'node:stream'
import { Slice } from '../../lib/async/yield.js'
import type { RefLine, RefStore } from '../refs/ref-store.js'
import type { Oid } from '../types.js'
import { FLUSH, PIECE, packetLine } from './advertisement.js'

/** Which refs a client of protocol 2 asks for, and what about each. */
export interface LsRefs {
  peel: boolean
  symrefs: boolean
  unborn: boolean
  /** What the names begin with; none: all refs. */
  prefixes: string[]
}

/** The object at the end of a chain of tags; null where there is none. */
export type Peel = (oid: Oid) => Promise<Oid | null>

const COMMAND = 'command=ls-refs'
/** Bytes of a body and number of loose refs, each a file to read, above which the answer is left to git. */
const MOST_BYTES = 65_536
const MOST_LOOSE = 2_000
/** What `transfer.hideRefs` hides. */
const HIDDEN = /^[0-9a-f]{40} refs\/(keep-around|roost)(\/|$)/
/** Refs whose objects are looked up at once. */
const BATCH = 256
/** Git itself lets branches point at commits only, which have nothing to peel. */
const BRANCH = /^[0-9a-f]{40} refs\/heads\//

/**
 * Looks for an `ls-refs` command in the body of a call. `asked` is null for other commands and for what git should
 * answer, because it refuses it, or because it is unusual or long. The returned body has everything, from its beginning.
 */
export async function readLsRefs(body: Readable): Promise<{ asked: LsRefs | null; body: Readable }> {
  let head = Buffer.alloc(0)
  for (;;) {
    const chunk = await nextOf(body)
    if (chunk === null) return { asked: null, body: body.readableEnded ? Readable.from([head]) : body }
    head = Buffer.concat([head, chunk])
    const asked = head.length > MOST_BYTES ? 'other' : parseLsRefs(head)
    if (asked === 'incomplete') continue
    if (typeof asked === 'string') {
      body.unshift(head)
      return { asked: null, body }
    }
    body.resume()
    return { asked, body: Readable.from([head]) }
  }
}

/** The next chunk; null at the end, and when the body was destroyed. */
async function nextOf(body: Readable): Promise<Buffer | null> {
  for (;;) {
    const chunk = body.read() as Buffer | null
    if (chunk !== null) return chunk
    if (body.readableEnded || body.destroyed) return null
    await new Promise<void>((resolve) => {
      const events = ['readable', 'end', 'error', 'close'] as const
      const more = () => {
        for (const event of events) body.off(event, more)
        resolve()
      }
      for (const event of events) body.on(event, more)
    })
  }
}

/** The command of a body, which git reads as lines: the command and capabilities, a delimiter, arguments, a flush. */
export function parseLsRefs(body: Buffer): LsRefs | 'incomplete' | 'other' {
  const asked: LsRefs = { peel: false, symrefs: false, unborn: false, prefixes: [] }
  let [first, argument] = [true, false]
  for (let at = 0; ; ) {
    if (body.length < at + 4) return 'incomplete'
    const head = body.toString('latin1', at, at + 4)
    const length = /^[0-9a-f]{4}$/.test(head) ? Number.parseInt(head, 16) : -1
    at += 4
    if (length === 0) return first || at < body.length ? 'other' : asked
    if (length === 1 && !first && !argument) {
      argument = true
      continue
    }
    if (length <= 4) return 'other'
    if (body.length < at + length - 4) return 'incomplete'
    const line = body.toString('utf8', at, at + length - 4).replace(/\n$/, '')
    at += length - 4
    if (first ? line !== COMMAND : argument ? !takeArgument(asked, line) : !/^agent=|^object-format=sha1$/.test(line)) return 'other'
    first = false
  }
}

function takeArgument(asked: LsRefs, line: string): boolean {
  if (line === 'peel' || line === 'symrefs' || line === 'unborn') asked[line] = true
  else if (line.startsWith('ref-prefix ') && !line.includes('\ufffd')) asked.prefixes.push(line.slice('ref-prefix '.length))
  else return false
  return true
}

/**
 * What git answers: HEAD, then the refs that are not hidden, in byte order of their names, whether their objects are
 * there or not. Null where only git can tell, see `matching`.
 */
export async function answerLsRefs(refs: RefStore, asked: LsRefs, peel: Peel): Promise<AsyncGenerator<Buffer> | null> {
  const found = await refs.matching(asked.prefixes.length > 0 ? asked.prefixes : [''], MOST_LOOSE)
  if (!found) return null
  const head = asked.prefixes.length === 0 || asked.prefixes.some((prefix) => 'HEAD'.startsWith(prefix)) ? await headOf(refs, asked, peel) : ''
  return pieces(head, found, asked.peel, peel)
}

async function headOf(refs: RefStore, { symrefs, unborn, ...asked }: LsRefs, peel: Peel): Promise<string> {
  const [target, oid] = [await refs.head(), await refs.ref('HEAD')]
  if (!oid && !(target && symrefs && unborn)) return ''
  const symref = target && symrefs ? ` symref-target:${Buffer.from(target).toString('latin1')}` : ''
  const object = oid && asked.peel && !target?.startsWith('refs/heads/') ? await peel(oid) : null
  return packetLine(`${oid ?? 'unborn'} HEAD${symref}${object && object !== oid ? ` peeled:${object}` : ''}\n`)
}

async function* pieces(head: string, found: Iterable<RefLine>, withPeeled: boolean, peel: Peel): AsyncGenerator<Buffer> {
  let text = head
  const slice = new Slice()
  for (const batch of batches(found)) {
    const ofLoose = withPeeled ? await peeledOf(batch, peel) : null
    for (const ref of batch) {
      const peeled = ofLoose && (ref.loose ? ofLoose.get(ref) : ref.peeled)
      text += packetLine(peeled && peeled !== ref.oid ? `${ref.line} peeled:${peeled}\n` : `${ref.line}\n`)
    }
    if (text.length >= PIECE) {
      yield Buffer.from(text, 'latin1')
      text = ''
    }
    if (slice.over) await slice.breathe()
  }
  yield Buffer.from(text + FLUSH, 'latin1')
}

/** What loose refs point at in the end, where that may be another object. */
async function peeledOf(refs: RefLine[], peel: Peel): Promise<Map<RefLine, Oid | null>> {
  const asked = refs.filter(({ line, loose }) => loose && !BRANCH.test(line))
  return new Map(await Promise.all(asked.map(async (ref) => [ref, await peel(ref.oid)] as const)))
}

function* batches(found: Iterable<RefLine>): Generator<RefLine[]> {
  let batch: RefLine[] = []
  for (const ref of found) {
    if (HIDDEN.test(ref.line)) continue
    batch.push(ref)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  yield batch
}
