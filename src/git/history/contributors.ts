import { Unavailable } from '../../lib/unavailable.js'
import { isOid } from '../objects/cat-file.js'
import type { Contributor, Oid } from '../types.js'
import type { LogSource } from './log-source.js'

/** Maximum number of distinct authors; only an abusive history has more (SEC-147). */
const MAX_CONTRIBUTORS = 50_000
/** Names and addresses are cut to this length. */
const MAX_FIELD_CHARS = 1_000

/**
 * The authors of a history by e-mail address, without merges; the name is that of the author's newest commit. Parsed
 * from the output of `git log` and cached per head.
 */
export async function contributors(source: LogSource, head: Oid): Promise<Contributor[]> {
  if (!isOid(head)) return []
  const found = await source.cache.getOrCompute<Contributor[]>(
    source.directory,
    `contributors ${head}`,
    (people) => people.reduce((bytes, { name, email }) => bytes + 120 + 2 * (name.length + email.length), 0),
    () => count(source, head),
  )
  return found ?? []
}

async function count({ pool, directory, env, objects }: LogSource, head: Oid): Promise<Contributor[] | null> {
  if ((await objects.info(head))?.type !== 'commit') return null
  const people = new Map<string, Contributor>()
  let rest = ''
  const decoder = new TextDecoder()
  const onChunk = (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const end = line.indexOf('\0')
      const email = line.slice(0, Math.min(end, MAX_FIELD_CHARS))
      const known = people.get(email)
      if (known) known.commits++
      else if (people.size < MAX_CONTRIBUTORS) people.set(email, { name: line.slice(end + 1, end + 1 + MAX_FIELD_CHARS), email, commits: 1 })
    }
    return true
  }
  const args = ['log', '--no-merges', '--no-show-signature', '--format=%ae%x00%an', head, '--']
  if ((await pool.scan(directory, args, onChunk, { ...(env && { env }) })) === 'timeout') throw new Unavailable('git log ran out of time')
  return [...people.values()]
}
