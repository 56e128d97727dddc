import { type FileDiff, type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { pageOfFile, titleOfSlug } from '../../../rules/wiki-page.js'
import type { HookChange } from '../../outbox/changes.js'
import { MAX_JSON_BLOB } from '../../repository/blobs.js'
import { wikiKeyOf } from '../../repository/repositories.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, type ProjectData, projectObject, userById } from '../payload-data.js'

const HEADS = 'refs/heads/'
/** The most pages of one push that become events. */
const MAX_PAGES = 100
const FILES = { files: MAX_PAGES, lines: 10_000, bytes: 1 << 16, fileBytes: 1 << 10 }

const wikiOf = ({ ctx }: PayloadData, { id, row }: ProjectData): GitRepository => ctx.git.open(wikiKeyOf({ id, storage: String(row['storage']) }))

/** Filters the moves that took effect: the ref is at the new commit, or has moved on from it. */
async function completedMoves(repository: GitRepository, moves: RefUpdate[]): Promise<RefUpdate[]> {
  const done: RefUpdate[] = []
  for (const move of moves) {
    const now = (await repository.ref(move.ref)) ?? ZERO
    if (now === move.new || (now !== ZERO && move.new !== ZERO && (await repository.isAncestor(move.new, now)))) done.push(move)
  }
  return done
}

/** The events of pages that a push to a wiki has changed (HK-21). */
export async function wikiPagesOf(data: PayloadData, { source, project_id, actor_id, after }: HookChange): Promise<WebhookEvent[]> {
  const project = await data.project(project_id)
  if (!project) return []
  const repository = wikiOf(data, project)
  const recorded = (after?.['moves'] ?? []) as RefUpdate[]
  const moves = source === 'wiki_intents' ? await completedMoves(repository, recorded) : recorded
  const main = await repository.headBranch()
  const events: WebhookEvent[] = []
  for (const move of moves) {
    if (move.new === ZERO || move.ref !== `${HEADS}${main}`) continue
    const commit = await repository.commit(move.new)
    const { files } = commit ? await repository.diff(move.old === ZERO ? null : move.old, move.new, FILES) : { files: [] }
    for (const file of files) {
      const page = await changedPage(repository, move, file)
      if (page) events.push(await pageEvent(data, project, actor_id, { ...page, message: commit?.message.trimEnd() ?? '', branch: String(main) }))
    }
  }
  return events
}

interface Page {
  slug: string
  format: string
  content: string
  message: string
  version_id: string | null
  branch: string
  action: 'create' | 'update' | 'delete'
}

async function changedPage(repository: GitRepository, move: RefUpdate, file: FileDiff): Promise<Omit<Page, 'message' | 'branch'> | null> {
  const path = file.deleted_file ? file.old_path : file.new_path
  const page = pageOfFile(path)
  if (!page) return null
  const action = file.new_file ? 'create' : file.deleted_file ? 'delete' : 'update'
  return { ...page, content: await contentAt(repository, file.deleted_file ? move.old : move.new, path), version_id: move.new, action }
}

async function contentAt(repository: GitRepository, commit: string, path: string): Promise<string> {
  const entry = await repository.entry(commit, path)
  const info = entry && (await repository.objectInfo(entry.oid))
  if (!entry || !info || info.size > MAX_JSON_BLOB) return ''
  return (await repository.blob(entry.oid))?.toString('utf8') ?? ''
}

/** The event of one page. */
async function pageEvent(data: PayloadData, project: ProjectData, actor: number | null, page: Page): Promise<WebhookEvent> {
  const { links } = data.ctx
  const home = `${links.project(project.fullPath)}/wikis`
  const path = `${project.fullPath}.wiki`
  const { branch, ...attributes } = page
  const body = {
    object_kind: 'wiki_page',
    user: await userById(data, actor),
    project: projectObject(data, project),
    wiki: {
      web_url: `${home}/home`,
      git_ssh_url: links.ssh(path),
      git_http_url: links.http(path),
      path_with_namespace: path,
      default_branch: branch,
    },
    object_attributes: {
      ...attributes,
      title: titleOfSlug(page.slug),
      url: `${home}/${page.slug.split('/').map(encodeURIComponent).join('/')}`,
    },
  }
  return { listens: 'wiki_page', event: 'Wiki Page Hook', project: project.id, body }
}

/** The event of a wiki's first page as if it were new, for tests of hooks (HK-5); null if there is no page. */
export async function wikiSample(data: PayloadData, project: ProjectData, actor: number): Promise<WebhookEvent | null> {
  const repository = wikiOf(data, project)
  const main = await repository.headBranch()
  const head = await repository.ref(`${HEADS}${main}`)
  const entries = head ? ((await repository.tree(head, '', { recursive: true })) ?? []) : []
  const entry = entries.find(({ type, path }) => type === 'blob' && pageOfFile(path))
  const page = entry && pageOfFile(entry.path)
  if (!head || !page) return null
  const content = await contentAt(repository, head, entry.path)
  return pageEvent(data, project, actor, { ...page, content, message: '', version_id: head, branch: String(main), action: 'create' })
}
