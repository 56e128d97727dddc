import { z } from 'zod'
import { fullPathOf, onProject } from '../../../access/rules.js'
import { opt, searchText, str } from '../../../http/params.js'
import { Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { ProjectLayout } from '../../layout/project.js'
import { page } from '../../page.js'
import { placeOf } from './revision.js'
import { RefSwitch } from './tree.js'

/** Files that are looked at, and files that are shown. */
const MAX_FILES = 50_000
const MAX_FOUND = 100

/** How well a path matches: the text in its name, in it, or its letters in their order; null if not at all. */
function rankOf(path: string, wanted: string): number | null {
  const text = path.toLowerCase()
  const name = text.slice(text.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (text.includes(wanted)) return 2
  let at = 0
  for (const letter of wanted) {
    at = text.indexOf(letter, at) + 1
    if (at === 0) return null
  }
  return 3
}

/** Finds files by a part of their path (WB-62). */
export const findFilePage = page({
  at: 'P/-/find_file/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str(), search: opt(searchText()) }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { repository, commit, links, ref } = place
    const wanted = input.search?.trim().toLowerCase() ?? ''
    const { entries, total } = (await repository.treePage(commit.oid, '', { skip: 0, limit: MAX_FILES })) ?? { entries: [], total: 0 }
    const found = entries
      .filter(({ type }) => type === 'blob')
      .flatMap(({ path, bytePath = path }) => {
        const rank = rankOf(path, wanted)
        return rank === null ? [] : [{ path, bytePath, rank }]
      })
      .sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    return {
      title: `Find file · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading="Find a file">
          <div class="toolbar">
            <RefSwitch place={place} page="find_file" />
          </div>
          <SearchForm action={links.findFile(ref)} value={input.search} label="Find a file" />
          <Rows empty="There is no such file.">
            {found.slice(0, MAX_FOUND).map(({ path, bytePath }) => (
              <Row key={bytePath}>
                <a href={links.blob(ref, bytePath)}>{path}</a>
              </Row>
            ))}
          </Rows>
          {found.length > MAX_FOUND && <p class="dim">{found.length - MAX_FOUND} more files match. Write more of the path.</p>}
          {total > entries.length && (
            <p class="dim">
              Only the first {MAX_FILES} of {total} entries are looked at.
            </p>
          )}
        </ProjectLayout>
      ),
    }
  },
})
