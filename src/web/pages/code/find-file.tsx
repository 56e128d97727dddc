import { z } from 'zod'
import { fullPathOf, onProject } from '../../../access/rules.js'
import type { TreeEntry } from '../../../git/types.js'
import { bool, opt, searchText, str } from '../../../http/params.js'
import type { Steps } from '../../../lib/async/slices.js'
import { Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl } from '../../links.js'
import { Plain, page } from '../../page.js'
import { RefSwitch } from './finders.js'
import { type Place, placeOf } from './revision.js'

/** Files that are looked at, characters of their paths together, and files that are shown. */
const MAX_FILES = 50_000
const MAX_CHARACTERS = 4_000_000
const MAX_FOUND = 100
/** Paths that are ranked at once. */
const STEP = 2_000

/** The position behind each letter of a text, in their order; null if they are not all there. */
function lettersIn(text: string, wanted: string): number[] | null {
  const at: number[] = []
  for (const letter of wanted) {
    const next = text.indexOf(letter, at.at(-1) ?? 0)
    if (next < 0) return null
    at.push(next + letter.length)
  }
  return at
}

/**
 * How well a path matches: its name begins with the text, has it, the path has it, or its letters in their order are in
 * the name, or in the path; null if not at all. The script of the finder ranks alike.
 */
function rankOf(path: string, wanted: string): number | null {
  const text = path.toLowerCase()
  const name = text.slice(text.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (text.includes(wanted)) return 2
  return lettersIn(name, wanted) ? 3 : lettersIn(text, wanted) ? 4 : null
}

interface Found {
  path: string
  bytePath: string
  rank: number
}

function* ranked(files: TreeEntry[], wanted: string): Steps<Found[]> {
  const found: Found[] = []
  for (const [i, { path, bytePath = path }] of files.entries()) {
    if (i % STEP === STEP - 1) yield
    const rank = rankOf(path, wanted)
    if (rank !== null) found.push({ path, bytePath, rank })
  }
  return found.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
}

/** The files of a commit, as many as are looked at, and how many entries there are if that is not all of them. */
async function filesOf({ repository, commit }: Place): Promise<{ files: TreeEntry[]; total: number | null }> {
  const entries = (await repository.tree(commit.oid, '', { recursive: true })) ?? []
  const { total } = (await repository.treePage(commit.oid, '', { skip: 0, limit: 0 })) ?? { total: 0 }
  const files = entries.filter(({ type }) => type === 'blob')
  let characters = 0
  const shown = files.slice(0, MAX_FILES).filter(({ path }) => {
    characters += path.length
    return characters <= MAX_CHARACTERS
  })
  return { files: shown, total: shown.length < files.length || entries.length < total ? total : null }
}

/** Finds files by a part of their path (WB-62); `list` has the paths themselves, for the script (WB-560). */
export const findFilePage = page({
  at: 'P/-/find_file/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str(), search: opt(searchText()), list: opt(bool()) }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { links, ref } = place
    const { files, total } = await filesOf(place)
    const bound =
      total === null
        ? null
        : t('Only the first {counted} of {total} entries are looked at.', { counted: plural(files.length, '{count} file', '{count} files'), total })
    if (input.list) {
      // a path that is not UTF-8 has an address of its own
      const list = files.map(({ path, bytePath }) => (bytePath === undefined ? path : [path, inUrl(bytePath)]))
      const text = await ctx.cpu.slices.run(() => JSON.stringify({ before: `${links.blob(ref, '')}/`, files: list, bound }))
      return new Plain('application/json; charset=utf-8', text)
    }
    const wanted = (input.search ?? '').toLowerCase().replace(/\s+/g, '')
    const found = await ctx.cpu.slices.steps(() => ranked(files, wanted))
    return {
      title: `${t('Find file')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={t('Find a file')}>
          <div class="toolbar">
            <RefSwitch place={place} page="find_file" />
          </div>
          <SearchForm action={links.findFile(ref)} value={input.search} label={t('Find a file')} finder="files" />
          <div data-found>
            <Rows empty={t('There is no such file.')}>
              {found.slice(0, MAX_FOUND).map(({ path, bytePath }) => (
                <Row key={bytePath}>
                  <a href={links.blob(ref, bytePath)}>{path}</a>
                </Row>
              ))}
            </Rows>
            {found.length > MAX_FOUND && (
              <p class="dim">
                <Phrase text="{count} more files match. Write more of the path." count={found.length - MAX_FOUND} />
              </p>
            )}
            {bound && <p class="dim">{bound}</p>}
          </div>
        </ProjectLayout>
      ),
    }
  },
})
