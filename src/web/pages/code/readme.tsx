import type { Caller } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { TreeEntry } from '../../../git/types.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import { isMarkdown, type Surroundings, settledSurroundings, withSurroundings } from '../../../services/markdown/relative.js'
import { Prose } from '../../components/markup.js'
import { LongText } from '../../page-part.js'
import { Outline } from './outline.js'
import type { Place } from './revision.js'

/** Larger ones are a link only. */
const MAX_BYTES = 512 * 1024

/** What a reader sees of a text: HTML if it is Markdown, otherwise the text. */
export type Rendered = { html: string } | { text: string }

export type Readme = Rendered & { name: string }

/** Renders a Markdown file of a repository: references, and links to other files (WB-8). */
export async function renderFile(
  ctx: Context,
  caller: Caller,
  subject: ProjectSubject,
  { links, ref, path }: Pick<Place, 'links' | 'ref' | 'path'>,
  text: string,
) {
  const html = await ctx.cpu.markdown.html(text, await linksOfReferences(ctx, { caller, project: subject }, text), { hasMath: true })
  const surroundings: Surroundings = {
    folder: path.split('/').slice(0, -1).join('/'),
    page: (file) => links.blob(ref, file),
    file: (file) => links.raw(ref, file),
    ...(await settledSurroundings(ctx)),
  }
  return withSurroundings(ctx.cpu, html, surroundings)
}

/** The README of a folder; null if there is none, or it is no text. */
export async function readmeIn(ctx: Context, caller: Caller, subject: ProjectSubject, place: Place, entries: TreeEntry[]): Promise<Readme | null> {
  const { repository } = place
  const entry = entries.find(({ name, type, mode }) => type === 'blob' && mode !== '120000' && /^readme(?:\.[a-z]{1,8})?$/i.test(name))
  const info = entry && (await repository.objectInfo(entry.oid))
  if (!entry || !info || info.size > MAX_BYTES) return null
  const content = await repository.blob(entry.oid)
  if (!content || content.subarray(0, 8_000).includes(0)) return null
  const text = content.toString('utf8')
  const rendered = isMarkdown(entry.name) ? { html: await renderFile(ctx, caller, subject, { ...place, path: entry.path }, text) } : { text }
  return { name: entry.name, ...rendered }
}

export const ReadmeBox = ({ readme }: { readme: Readme }) => (
  <section class="box" id="readme">
    <div class="head">
      <h2 class="grow">{readme.name}</h2>
      {'html' in readme && <Outline html={readme.html} />}
    </div>
    {'html' in readme ? (
      <Prose html={readme.html} />
    ) : (
      <pre class="plain">
        <LongText text={readme.text} />
      </pre>
    )}
  </section>
)
