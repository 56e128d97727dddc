import { fullPathOf, type Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { type Commit, ZERO } from '../../git/types.js'
import { slug } from '../../rules/ci/slug.js'
import type { Variable } from '../../rules/ci/types.js'
import { visibilityName } from '../../rules/visibility.js'
import type { RequestsOfPipeline } from './merge-requests/facts.js'

/** What the predefined variables of a pipeline are made of. */
export interface PipelineFacts extends RequestsOfPipeline {
  project: Project
  ref: string
  tag: boolean
  source: string
  before_sha: string | null
  protected: boolean
  commit: Commit
  /** Null for an anonymous caller, who checks a configuration. */
  user: { id: number; username: string; name: string; email: string } | null
  /** Whether a freeze period of the project goes on (FZ-1). */
  frozen: boolean
  /** Null while there is no pipeline yet. */
  pipeline: { id: number; iid: number } | null
}

/** The time of a commit; undefined where it is beyond that of a date. */
function timeOf({ committer }: Commit): string | undefined {
  const time = new Date(committer.seconds * 1_000)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/** The predefined variables of a pipeline, as version 13.12 has them. */
export function predefinedVariables(ctx: Pick<Context, 'links' | 'config'>, facts: PipelineFacts): Variable[] {
  const { project, tag, commit, user, pipeline, request, open_requests: open } = facts
  const ref = request?.source_branch ?? facts.ref
  const isOfRequest = request !== null || facts.source === 'merge_request_event'
  const path = fullPathOf(project)
  const url = ctx.links.project(path)
  const server = new URL(ctx.links.base)
  const [title = '', ...rest] = commit.message.split('\n')
  const values: Record<string, string | undefined> = {
    CI: 'true',
    GITLAB_CI: 'true',
    CI_SERVER: 'yes',
    CI_SERVER_NAME: 'GitLab',
    CI_SERVER_URL: ctx.links.base,
    CI_SERVER_HOST: server.hostname,
    CI_SERVER_PORT: server.port || (server.protocol === 'https:' ? '443' : '80'),
    CI_SERVER_PROTOCOL: server.protocol.slice(0, -1),
    CI_SERVER_VERSION: ctx.config.version,
    CI_SERVER_VERSION_MAJOR: ctx.config.version.split('.')[0],
    CI_SERVER_VERSION_MINOR: ctx.config.version.split('.')[1],
    CI_SERVER_VERSION_PATCH: /^\d+\.\d+\.(\d+)/.exec(ctx.config.version)?.[1],
    CI_API_V4_URL: ctx.links.api(''),
    CI_PROJECT_ID: String(project.id),
    CI_PROJECT_NAME: project.path,
    CI_PROJECT_TITLE: project.name,
    CI_PROJECT_PATH: path,
    CI_PROJECT_PATH_SLUG: slug(path),
    CI_PROJECT_NAMESPACE: project.namespace.full_path,
    CI_PROJECT_ROOT_NAMESPACE: project.namespace.full_path.split('/')[0],
    CI_PROJECT_URL: url,
    CI_PROJECT_VISIBILITY: visibilityName(project.visibility),
    CI_DEFAULT_BRANCH: project.default_branch,
    ...(project.container_registry_enabled && {
      CI_REGISTRY: ctx.links.registry,
      CI_REGISTRY_IMAGE: `${ctx.links.registry}/${fullPathOf(project).toLowerCase()}`,
      CI_REGISTRY_USER: 'gitlab-ci-token',
    }),
    CI_CONFIG_PATH: project.ci_config_path || '.gitlab-ci.yml',
    CI_COMMIT_SHA: commit.oid,
    CI_COMMIT_SHORT_SHA: commit.oid.slice(0, 8),
    CI_COMMIT_BEFORE_SHA: facts.before_sha ?? ZERO,
    CI_COMMIT_REF_NAME: ref,
    CI_COMMIT_REF_SLUG: slug(ref),
    CI_COMMIT_REF_PROTECTED: String(facts.protected),
    CI_COMMIT_BRANCH: tag || isOfRequest ? undefined : ref,
    CI_COMMIT_TAG: tag ? ref : undefined,
    CI_COMMIT_MESSAGE: commit.message,
    CI_COMMIT_TITLE: title,
    CI_COMMIT_DESCRIPTION: title.length < 100 ? rest.join('\n').trim() : commit.message,
    CI_COMMIT_AUTHOR: `${commit.author.name} <${commit.author.email}>`,
    CI_COMMIT_TIMESTAMP: timeOf(commit),
    CI_OPEN_MERGE_REQUESTS: open.length > 0 ? open.join(',') : undefined,
    CI_DEPLOY_FREEZE: facts.frozen ? 'true' : undefined,
    CI_PIPELINE_SOURCE: facts.source,
    CI_PIPELINE_TRIGGERED: facts.source === 'trigger' ? 'true' : undefined,
    CI_PIPELINE_ID: pipeline ? String(pipeline.id) : undefined,
    CI_PIPELINE_IID: pipeline ? String(pipeline.iid) : undefined,
    CI_PIPELINE_URL: pipeline ? `${url}/-/pipelines/${pipeline.id}` : undefined,
    GITLAB_USER_ID: user ? String(user.id) : undefined,
    GITLAB_USER_LOGIN: user?.username,
    GITLAB_USER_NAME: user?.name,
    GITLAB_USER_EMAIL: user?.email,
  }
  const all = Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]))
  return [...all, ...(request?.variables ?? [])]
}
