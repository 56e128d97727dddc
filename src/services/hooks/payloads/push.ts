import type { Move } from '../../../context.js'
import { type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { avatarUrl } from '../../../rules/avatar-url.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, type ProjectData, projectObject, repositoryObject } from '../payload-data.js'
import { commitsOfPush, commitWithFiles, repositoryIn } from './commits.js'

const BRANCH = 'refs/heads/'
const TAG = 'refs/tags/'

async function pusher(data: PayloadData, id: unknown) {
  const user = await data.row('users', id)
  return {
    user_id: user?.['id'] ?? null,
    user_name: user?.['name'] ?? null,
    user_username: user?.['username'] ?? null,
    user_email: user?.['email'] ?? null,
    user_avatar: user ? avatarUrl({ id: Number(user['id']), avatar: user['avatar'] as string | null }, data.avatars) : null,
  }
}

/** One event for each pushed branch and tag (HK-14 to HK-16), and one for all of them (HK-23). */
export async function pushesOf(data: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const project = await data.project(change.project_id)
  if (!project) return []
  const moves = ((change.after?.['moves'] ?? []) as Move[]).filter(({ ref }) => ref.startsWith(BRANCH) || ref.startsWith(TAG))
  const events: WebhookEvent[] = []
  for (const move of moves) events.push(await pushOf(data, project, change.actor_id, move))
  if (moves.length > 0) events.push(await updateOf(data, project, change.actor_id, moves))
  return events
}

/** The event of one ref. */
export async function pushOf(data: PayloadData, project: ProjectData, actor: number | null, move: Move): Promise<WebhookEvent> {
  const repository = repositoryIn(data, project)
  const tag = move.ref.startsWith(TAG)
  const kind = tag ? 'tag_push' : 'push'
  const body = {
    object_kind: kind,
    event_name: kind,
    before: move.old,
    after: move.new,
    ref: move.ref,
    ...(tag ? await ofTag(data, project, repository, move) : await ofBranch(data, project, repository, move)),
    ...(await pusher(data, actor)),
    project_id: project.id,
    project: projectObject(data, project),
    repository: {
      ...repositoryObject(data, project),
      git_http_url: data.ctx.links.http(project.fullPath),
      git_ssh_url: data.ctx.links.ssh(project.fullPath),
      visibility_level: project.row['visibility'],
    },
    push_options: move.skip_ci ? { ci: { skip: true } } : {},
  }
  return {
    listens: kind,
    event: tag ? 'Tag Push Hook' : 'Push Hook',
    project: project.id,
    body,
    ...(!tag && { branch: move.ref.slice(BRANCH.length) }),
  }
}

async function ofBranch(data: PayloadData, project: ProjectData, repository: GitRepository, move: RefUpdate) {
  const { commits, total } = await commitsOfPush(repository, move)
  const shown = []
  for (const commit of commits) shown.push(await commitWithFiles(data, project, repository, commit))
  return { checkout_sha: move.new === ZERO ? null : move.new, message: null, commits: shown, total_commits_count: total }
}

async function ofTag(data: PayloadData, project: ProjectData, repository: GitRepository, move: RefUpdate) {
  const gone = move.new === ZERO
  const found = gone ? null : await repository.resolve(move.new)
  const commit = found && (await repository.commit(found.commit))
  const annotated = gone || found?.commit === move.new ? null : await repository.tag(move.new)
  return {
    checkout_sha: commit?.oid ?? null,
    message: annotated?.message.trimEnd() ?? null,
    commits: commit ? [await commitWithFiles(data, project, repository, commit)] : [],
    total_commits_count: commit ? 1 : 0,
  }
}

async function updateOf(data: PayloadData, project: ProjectData, actor: number | null, moves: RefUpdate[]): Promise<WebhookEvent> {
  const { user_id, user_name, user_email, user_avatar } = await pusher(data, actor)
  return {
    listens: 'repository_update',
    event: 'System Hook',
    project: project.id,
    body: {
      event_name: 'repository_update',
      user_id,
      user_name,
      user_email,
      user_avatar,
      project_id: project.id,
      project: projectObject(data, project),
      changes: moves.map(({ ref, old, new: to }) => ({ before: old, after: to, ref })),
      refs: moves.map(({ ref }) => ref),
    },
  }
}
