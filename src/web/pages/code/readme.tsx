import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { TreeEntry } from '../../../git/types.js'
import type { Place } from './revision.js'

/** Larger ones are a link only. */
const MAX_BYTES = 512 * 1024

export interface Readme {
  name: string
  text: string
}

/** The README of a folder; null if there is none, or it is no text. */
export async function readmeIn(_ctx: Context, _subject: ProjectSubject, { repository }: Place, entries: TreeEntry[]): Promise<Readme | null> {
  const entry = entries.find(({ name, type, mode }) => type === 'blob' && mode !== '120000' && /^readme(?:\.(?:md|markdown|txt))?$/i.test(name))
  const info = entry && (await repository.objectInfo(entry.oid))
  if (!entry || !info || info.size > MAX_BYTES) return null
  const content = await repository.blob(entry.oid)
  if (!content || content.subarray(0, 8_000).includes(0)) return null
  return { name: entry.name, text: content.toString('utf8') }
}

export const ReadmeBox = ({ readme: { name, text } }: { readme: Readme }) => (
  <section class="box">
    <h2 class="head">{name}</h2>
    <pre class="plain">{text}</pre>
  </section>
)
