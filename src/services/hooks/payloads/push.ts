import { type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { avatarUrl } from '../../../lib/avatar-url.js'
import type { HookChange } from '../../core/hook-changes.js'
import type { WebhookEvent } from '../event.js'
import { projectObject, repositoryObject, type Scene, type SceneProject } from '../scene.js'
import { commitsOfPush, commitWithFiles, repositoryIn } from './commits.js'

const BRANCH = 'refs/heads/'
const TAG = 'refs/tags/'

/** Who pushed. */
async function pusher(scene: Scene, id: unknown) {
  const user = await scene.row('users', id)
  return {
    user_id: user?.['id'] ?? null,
    user_name: user?.['name'] ?? null,
    user_username: user?.['username'] ?? null,
    user_email: user?.['email'] ?? null,
    user_avatar: user ? avatarUrl({ id: Number(user['id']), avatar: user['avatar'] as string | null }, scene.avatars) : null,
  }
}

/** A push or tag push, once for each ref (HK-14 to HK-16), and one for all of them (HK-23). */
export async function pushesOf(scene: Scene, change: HookChange): Promise<WebhookEvent[]> {
  const project = await scene.project(change.project_id)
  if (!project) return []
  const moves = ((change.after?.['moves'] ?? []) as RefUpdate[]).filter(({ ref }) => ref.startsWith(BRANCH) || ref.startsWith(TAG))
  const events: WebhookEvent[] = []
  for (const move of moves) events.push(await pushOf(scene, project, change.actor_id, move))
  if (moves.length > 0) events.push(await updateOf(scene, project, change.actor_id, moves))
  return events
}

/** The events of one ref. */
export async function pushOf(scene: Scene, project: SceneProject, actor: number | null, move: RefUpdate): Promise<WebhookEvent> {
  const repository = repositoryIn(scene, project)
  const tag = move.ref.startsWith(TAG)
  const kind = tag ? 'tag_push' : 'push'
  const body = {
    object_kind: kind,
    event_name: kind,
    before: move.old,
    after: move.new,
    ref: move.ref,
    ...(tag ? await ofTag(scene, project, repository, move) : await ofBranch(scene, project, repository, move)),
    ...(await pusher(scene, actor)),
    project_id: project.id,
    project: projectObject(scene, project),
    repository: {
      ...repositoryObject(scene, project),
      git_http_url: scene.ctx.links.http(project.fullPath),
      git_ssh_url: scene.ctx.links.ssh(project.fullPath),
      visibility_level: project.row['visibility'],
    },
  }
  return {
    listens: kind,
    event: tag ? 'Tag Push Hook' : 'Push Hook',
    project: project.id,
    body,
    ...(!tag && { branch: move.ref.slice(BRANCH.length) }),
  }
}

async function ofBranch(scene: Scene, project: SceneProject, repository: GitRepository, move: RefUpdate) {
  const { commits, total } = await commitsOfPush(repository, move)
  const shown = []
  for (const commit of commits) shown.push(await commitWithFiles(scene, project, repository, commit))
  return { checkout_sha: move.new === ZERO ? null : move.new, message: null, commits: shown, total_commits_count: total }
}

async function ofTag(scene: Scene, project: SceneProject, repository: GitRepository, move: RefUpdate) {
  const gone = move.new === ZERO
  const found = gone ? null : await repository.resolve(move.new)
  const commit = found && (await repository.commit(found.commit))
  const annotated = gone || found?.commit === move.new ? null : await repository.tag(move.new)
  return {
    checkout_sha: commit?.oid ?? null,
    message: annotated?.message.trimEnd() ?? null,
    commits: commit ? [await commitWithFiles(scene, project, repository, commit)] : [],
    total_commits_count: commit ? 1 : 0,
  }
}

async function updateOf(scene: Scene, project: SceneProject, actor: number | null, moves: RefUpdate[]): Promise<WebhookEvent> {
  const { user_id, user_name, user_email, user_avatar } = await pusher(scene, actor)
  return {
    listens: 'repository_update',
    event: 'System Hook',
    project: project.id,
    body: {
      event_name: 'repository_update',
      ...{ user_id, user_name, user_email, user_avatar },
      project_id: project.id,
      project: projectObject(scene, project),
      changes: moves.map(({ ref, old, new: to }) => ({ before: old, after: to, ref })),
      refs: moves.map(({ ref }) => ref),
    },
  }
}
