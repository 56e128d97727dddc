import { z } from 'zod'
import { fullPathOf, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Commit } from '../../../git/types.js'
import { bool, oneOf, opt, paging, str } from '../../../http/params.js'
import { lastPipelinesOf } from '../../../services/ci/pipelines.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { compare, diffOf, getCommit } from '../../../services/repository/commits/read.js'
import { signatureOfCommit } from '../../../services/repository/commits/signature.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { Author, PathLinks, PipelineBadge, shortId } from '../../components/code.js'
import { DiffFiles } from '../../components/diff.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Marked } from '../../components/marked.js'
import { dayText, Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { type ProjectLinks, projectLinks } from '../../links.js'
import { type PageView, page, Redirect } from '../../page.js'
import { momentOf, placeOf, titleOf } from './revision.js'
import { RefSwitch } from './tree.js'

const PER_PAGE = 40

/** What a list of commits shows beside them, in two statements. */
async function beside(ctx: Context, subject: ProjectSubject, commits: Commit[]) {
  const [users, states] = await Promise.all([
    findUsersByAddress(
      ctx,
      commits.map(({ author }) => author.email),
    ),
    subject.can('read_pipeline')
      ? lastPipelinesOf(
          ctx,
          subject,
          commits.map(({ oid }) => oid),
        )
      : new Map(),
  ])
  return { users, states }
}

/** A commit in a list: its title, its author, and when it was made. */
export const CommitText = ({
  view,
  commit,
  links,
  users,
  wanted = '',
}: Pick<ListProps, 'view' | 'links' | 'users'> & { commit: Commit; wanted?: string }) => (
  <>
    <a href={links.commit(commit.oid)} class="title">
      <Marked text={titleOf(commit)} wanted={wanted} />
    </a>
    <span class="dim">
      <Author view={view} commit={commit} users={users} /> · <Time at={momentOf(commit.committer)} />
    </span>
  </>
)

interface ListProps extends Awaited<ReturnType<typeof beside>> {
  view: PageView
  commits: Commit[]
  links: ProjectLinks
}

/** Commits by the day on which they were committed. */
function CommitList({ view, commits, links, users, states }: ListProps) {
  const days = new Map<string, Commit[]>()
  for (const commit of commits) {
    const day = dayText(momentOf(commit.committer))
    days.set(day, [...(days.get(day) ?? []), commit])
  }
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day}>
          <h2>{day}</h2>
          <Rows empty="">
            {ofDay.map((commit) => (
              <Row
                key={commit.oid}
                actions={
                  <>
                    <PipelineBadge state={states.get(commit.oid)?.status} />
                    <a href={links.commit(commit.oid)}>
                      <code>{shortId(commit.oid)}</code>
                    </a>
                    <a href={links.tree(commit.oid)}>Files</a>
                  </>
                }
              >
                <CommitText view={view} commit={commit} links={links} users={users} />
              </Row>
            ))}
          </Rows>
        </section>
      ))}
    </>
  )
}

export const commitsPage = page({
  at: 'P/-/commits/*',
  access: onProject('download_code'),
  input: z.object({ path: str(), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { repository, commit, path, links } = place
    const { commits, total } = await repository.log({
      from: [commit.oid],
      skip: Math.min((input.page - 1) * PER_PAGE, 2 ** 40),
      limit: PER_PAGE,
      ...(path && { path }),
    })
    return {
      title: `Commits${path && ` of ${path}`} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits" heading="Commits">
          <div class="toolbar">
            <RefSwitch place={place} page="commits" /> {path && <PathLinks links={links} revision={place.ref} path={path} />}
          </div>
          <CommitList view={view} commits={commits} links={links} {...(await beside(ctx, subject, commits))} />
          {commits.length === 0 && <p class="empty">There are no commits here.</p>}
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** The commits of the default branch. */
export const defaultCommitsPage = page({
  at: 'P/-/commits',
  access: onProject('download_code'),
  input: z.object({}),
  show: async ({ subject: { project }, view }) =>
    new Redirect(projectLinks(view, fullPathOf(project)).commits(project.default_branch).slice(view.links.prefix.length)),
})

const views = { view: opt(oneOf(['inline', 'parallel'])), w: opt(bool()) }

function DiffViews({ view, parallel, ignoreSpace }: { view: PageView; parallel: boolean; ignoreSpace: boolean }) {
  const [path = ''] = view.address.split('?', 1)
  const to = (name: string, space = ignoreSpace) => `${view.links.prefix}${path}?view=${name}${space ? '&w=1' : ''}`
  return (
    <p class="toolbar end">
      <a href={to(parallel ? 'parallel' : 'inline', !ignoreSpace)}>{ignoreSpace ? 'Show white space' : 'Ignore white space'}</a>
      {parallel ? <a href={to('inline')}>Unified</a> : <strong>Unified</strong>}
      {parallel ? <strong>Side by side</strong> : <a href={to('parallel')}>Side by side</a>}
    </p>
  )
}

const SIGNATURES: Record<string, [string, 'success' | 'waiting']> = {
  verified: ['Verified', 'success'],
  unverified: ['Unverified signature', 'waiting'],
  same_user_different_email: ['Signed with another address of the user', 'waiting'],
  other_user: ['Signed by another user', 'waiting'],
  unverified_key: ['Signed with an unverified key', 'waiting'],
  unknown_key: ['Signed with an unknown key', 'waiting'],
}

export const commitPage = page({
  at: 'P/-/commit/:sha',
  access: onProject('download_code'),
  input: z.object({ sha: str(), ...views }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const commit = await getCommit(ctx, subject, input.sha)
    const [diff, signature, { users, states }] = await Promise.all([
      diffOf(ctx, subject, commit),
      signatureOfCommit(ctx, subject, commit.oid).catch(() => null),
      beside(ctx, subject, [commit]),
    ])
    const [first = '', ...others] = commit.message.split('\n')
    const [title, text] = [first.trim() || titleOf(commit), others.join('\n').trim()]
    const sign = signature && SIGNATURES[signature.status]
    return {
      title: `${title} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>{title}</h1>
          {text && <pre class="message">{text}</pre>}
          <p class="dim">
            <Author view={view} commit={commit} users={users} /> wrote this <Time at={momentOf(commit.author)} />
            {commit.committer.email !== commit.author.email && <>, committed by {commit.committer.name}</>}{' '}
            <PipelineBadge state={states.get(commit.oid)?.status} /> {sign && <Badge kind={sign[1]}>{sign[0]}</Badge>}
          </p>
          <p class="dim">
            Commit <code>{commit.oid}</code>
            {commit.parents.map((parent) => (
              <>
                {' · parent '}
                <a key={parent} href={links.commit(parent)}>
                  <code>{shortId(parent)}</code>
                </a>
              </>
            ))}
            {' · '}
            <a href={links.tree(commit.oid)}>Files</a>
            {' · '}
            <a href={`${links.commit(commit.oid)}.patch`}>Patch</a>
            {' · '}
            <a href={`${links.commit(commit.oid)}.diff`}>Diff</a>
          </p>
          <DiffViews view={view} parallel={input.view === 'parallel'} ignoreSpace={input.w ?? false} />
          <DiffFiles
            files={diff.files}
            truncated={diff.truncated}
            links={links}
            from={commit.parents[0] ?? null}
            to={commit.oid}
            parallel={input.view === 'parallel'}
            ignoreSpace={input.w ?? false}
            raw={`${links.commit(commit.oid)}.diff`}
          />
        </ProjectLayout>
      ),
    }
  },
})

export const comparePage = page({
  at: 'P/-/compare/*',
  access: onProject('download_code'),
  input: z.object({ path: str(), ...views }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const [, from = '', dots = '...', to = ''] = /^([\s\S]+?)(\.{2,3})([\s\S]+)$/.exec(input.path) ?? []
    const { commits, diffs, overflow } = await compare(ctx, subject, { from, to, straight: dots === '..' })
    const [start, end] = await Promise.all([from, to].map((ref) => repositoryOf(ctx, subject.project).resolve(ref)))
    const newest = [...commits].reverse()
    const shown = newest.slice(0, PER_PAGE)
    return {
      title: `${from} ${dots} ${to} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>
            {from} → {to}
          </h1>
          {commits.length === 0 && (
            <p class="empty">
              Everything in {to} is in {from} already.
            </p>
          )}
          <CommitList view={view} commits={shown} links={links} {...(await beside(ctx, subject, shown))} />
          {newest.length > shown.length && (
            <p>
              <a href={links.commits(to)}>{newest.length - shown.length} more commits</a>
            </p>
          )}
          <DiffViews view={view} parallel={input.view === 'parallel'} ignoreSpace={input.w ?? false} />
          <DiffFiles
            files={diffs}
            truncated={overflow}
            links={links}
            from={start?.commit ?? null}
            to={end?.commit ?? to}
            parallel={input.view === 'parallel'}
            ignoreSpace={input.w ?? false}
            raw={`${links.page('compare')}/${encodeURIComponent(from)}${dots}${encodeURIComponent(to)}.diff`}
          />
        </ProjectLayout>
      ),
    }
  },
})
