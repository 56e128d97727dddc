import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject } from '../../support/factories.js'
import { aMergeRequest, showRequest } from '../../support/merge-requests.js'

const t = testApp()

const TITLES: Record<string, boolean> = {
  'Draft: a': true,
  'draft:b': true,
  '[Draft] c': true,
  '(DRAFT) d': true,
  'WIP: e': true,
  '[wip] f': true,
  'Drafts: g': false,
  'Draft h': false,
  'A Draft: i': false,
}

it('shows, filters and refuses to merge drafts by the beginning of their title (MR-4, MR-61)', async () => {
  const project = await aProject(t.ctx, { files: { a: 'a\n' } })
  const drafts: string[] = []
  const ready: string[] = []
  for (const [title, draft] of Object.entries(TITLES)) {
    const request = await aMergeRequest(t, { project, title })
    expect(await showRequest(t, request)).toMatchObject({
      title,
      draft,
      work_in_progress: draft,
      detailed_merge_status: draft ? 'draft_status' : 'mergeable',
    })
    ;(draft ? drafts : ready).push(title)
    if (draft) await t.api('put', `${request.path}/merge`, project.creator).expect(405, { message: 'Method Not Allowed' })
  }
  const listed = async (query: string) => {
    const { body } = await t.api('get', `${project.path}/merge_requests?sort=asc&${query}`, project.creator).expect(200)
    return body.map(({ title }: { title: string }) => title)
  }
  for (const query of ['draft=true', 'wip=yes']) expect(await listed(query)).toEqual(drafts)
  for (const query of ['draft=false', 'wip=no']) expect(await listed(query)).toEqual(ready)
})
