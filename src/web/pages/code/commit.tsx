import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { opt, orDefault, str } from '../../../http/params.js'
import { pickCommit } from '../../../services/issuables/merge-requests/reading/picked.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutCommit, type NoteableSubject } from '../../../services/notes/noteables.js'
import { createBranch } from '../../../services/repository/branches.js'
import { revert } from '../../../services/repository/commits/pick.js'
import { diffOf, getCommit, refsOf } from '../../../services/repository/commits/read.js'
import { signatureOfCommit } from '../../../services/repository/commits/signature.js'
import { Author, PipelineBadge, shortId } from '../../components/code.js'
import { DiffFiles } from '../../components/diff.js'
import { Discussions } from '../../components/discussion.js'
import { Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { noteForms } from '../planning/notes.js'
import { renderNotes } from '../planning/texts.js'
import { beside, DiffViews, views } from './commits.js'
import { momentOf, titleOf } from './revision.js'

const MAX_DISCUSSIONS = 100

const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-`

const SIGNATURES: Record<string, [string, 'success' | 'waiting']> = {
  verified: ['Verified', 'success'],
  unverified: ['Unverified signature', 'waiting'],
  same_user_different_email: ['Signed with another address of the user', 'waiting'],
  other_user: ['Signed by another user', 'waiting'],
  unverified_key: ['Signed with an unverified key', 'waiting'],
  unknown_key: ['Signed with an unknown key', 'waiting'],
}

const PICKS = {
  cherry_pick: { verb: 'Cherry-pick', does: 'Makes the same change on another branch.', prefix: 'cherry-pick' },
  revert: { verb: 'Revert', does: 'Takes the change back by a new commit.', prefix: 'revert' },
} as const

/** Makes the change of a commit, or its reverse, on a branch. */
const PickForm = ({ view, subject, oid, kind }: { view: PageView; subject: ProjectSubject; oid: string; kind: keyof typeof PICKS }) => {
  const isOwn = view.submitted?.values['pick'] === kind
  const own = isOwn ? view : { ...view, submitted: null }
  const { verb, does } = PICKS[kind]
  return (
    <FormTag view={view} action={`${within(subject)}/commit/${oid}/${kind}`}>
      {isOwn && <FormFaults view={view} />}
      <p class="dim">{does}</p>
      <input type="hidden" name="pick" value={kind} />
      <Field view={own} within={kind} name="start_branch" label="Branch" value={subject.project.default_branch} required />
      {subject.can('create_merge_request') && (
        <Checkbox view={own} name="create_merge_request" label="On a new branch, with a merge request" value={kind} />
      )}
      <Submit label={verb} class="" />
    </FormTag>
  )
}

export const commitPage = page({
  at: 'P/-/commit/:sha',
  access: onProject('download_code'),
  input: z.object({ sha: str(), ...views }),
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const about = await aboutCommit(ctx, subject, input.sha)
    const commit = about.noteable.commit ?? (await getCommit(ctx, subject, input.sha))
    const [diff, signature, { users, states }, discussions] = await Promise.all([
      diffOf(ctx, subject, commit),
      signatureOfCommit(ctx, subject, commit.oid).catch(() => null),
      beside(ctx, subject, [commit]),
      listDiscussions(ctx, caller, about.noteable, { page: 1, per_page: MAX_DISCUSSIONS }),
    ])
    const texts = await renderNotes(ctx, caller, subject, discussions.items)
    const [first = '', ...others] = commit.message.split('\n')
    const [title, text] = [first.trim() || titleOf(commit), others.join('\n').trim()]
    const sign = signature && SIGNATURES[signature.status]
    const pipeline = states.get(commit.oid)
    const [parallel, ignoreSpace] = [input.view === 'parallel', input.w ?? false]
    const action = `${within(subject)}/commit/${commit.oid}`
    const mayComment = view.viewer !== null && subject.can('comment_on_commit')
    const mayPick = view.viewer !== null && subject.can('push_code')
    return {
      title: `${title} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>{title}</h1>
          {text && <pre class="message">{text}</pre>}
          <p class="dim">
            <Author view={view} commit={commit} users={users} /> wrote this <Time at={momentOf(commit.author)} />
            {commit.committer.email !== commit.author.email && <>, committed by {commit.committer.name}</>}{' '}
            {pipeline &&
              (view.viewer ? (
                <a href={links.page(`pipelines/${pipeline.id}`)}>
                  <PipelineBadge state={pipeline.status} />
                </a>
              ) : (
                <PipelineBadge state={pipeline.status} />
              ))}{' '}
            {sign && <Badge kind={sign[1]}>{sign[0]}</Badge>}
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
            {' · '}
            <a href={`${links.commit(commit.oid)}/branches`}>Branches and tags with this commit</a>
          </p>
          {mayPick && (
            <details class="picks" open={view.submitted?.values['pick'] !== undefined}>
              <summary>Cherry-pick or revert</summary>
              <div class="columns">
                <PickForm view={view} subject={subject} oid={commit.oid} kind="cherry_pick" />
                <PickForm view={view} subject={subject} oid={commit.oid} kind="revert" />
              </div>
            </details>
          )}
          <DiffViews view={view} parallel={parallel} ignoreSpace={ignoreSpace} />
          <DiffFiles
            files={diff.files}
            truncated={diff.truncated}
            links={links}
            from={commit.parents[0] ?? null}
            to={commit.oid}
            parallel={parallel}
            ignoreSpace={ignoreSpace}
            raw={`${links.commit(commit.oid)}.diff`}
          />
          {(discussions.items.length > 0 || mayComment) && <h2>Comments</h2>}
          <Discussions
            view={view}
            discussions={discussions.items}
            texts={texts}
            replyTo={mayComment ? (discussion) => `${action}/discussions/${discussion}/notes` : null}
          />
          {discussions.total > discussions.items.length && <p class="dim">{discussions.total - discussions.items.length} more are in the API.</p>}
          {mayComment && (
            <FormTag view={view} action={`${action}/notes`}>
              {view.submitted?.values['pick'] === undefined && <FormFaults view={view} fields={['note']} />}
              <TextField view={view} name="note[note]" label="Comment" rows={4} hint="In Markdown." required />
              <Submit label="Comment" class="" />
            </FormTag>
          )}
        </ProjectLayout>
      ),
    }
  },
})

const commentRule = onProjectSignedIn('comment_on_commit')

/** A commit that the caller may comment on. */
const onCommit: Access<NoteableSubject, true> = {
  ...commentRule,
  path: commentRule.path.extend({ sha: z.string() }),
  find: async (ctx, caller, params) => aboutCommit(ctx, await commentRule.find(ctx, caller, params), params['sha'] as string),
}

export const commitNotes = noteForms({
  at: 'P/-/commit/:sha',
  access: onCommit,
  on: commitPage,
  about: (subject) => subject,
  addressOf: (subject) => `${within(subject)}/commit/${subject.noteable.commit?.oid}`,
})

/** The form of a cherry-pick or a revert. */
const pickForm = (kind: keyof typeof PICKS) =>
  form({
    at: `P/-/commit/:sha/${kind}`,
    method: 'POST',
    access: onProjectSignedIn('push_code'),
    input: z.object({ sha: str(), start_branch: orDefault(str(), ''), create_merge_request: opt(str()) }),
    on: commitPage,
    async submit({ ctx, caller, subject, input: { sha, start_branch: start, create_merge_request } }) {
      const pick = kind === 'revert' ? revert : pickCommit
      const { oid } = await getCommit(ctx, subject, sha)
      const commit = (branch: string, dry_run = false) => pick(ctx, subject, caller, { sha: oid, branch, dry_run })
      if (!create_merge_request) {
        const made = await commit(start)
        return new Redirect(`${within(subject)}/commit/${made?.oid}`, { notice: `This commit is on the branch ${start}.` })
      }
      await commit(start, true)
      const branch = `${PICKS[kind].prefix}-${shortId(oid)}`
      await createBranch(ctx, subject, caller, { branch, ref: start })
      await commit(branch)
      const fields = new URLSearchParams({ 'merge_request[source_branch]': branch, 'merge_request[target_branch]': start })
      return new Redirect(`${within(subject)}/merge_requests/new?${fields}`, { notice: `The change is on the branch ${branch}.` })
    },
  })

export const cherryPickForm = pickForm('cherry_pick')
export const revertForm = pickForm('revert')

const MAX_REFS = 100

/** The branches and tags that contain a commit; looked for when they are asked for. */
export const containingPage = page({
  at: 'P/-/commit/:sha/branches',
  access: onProject('download_code'),
  input: z.object({ sha: str() }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const commit = await getCommit(ctx, subject, input.sha)
    const find = (type: 'branch' | 'tag') => refsOf(ctx, subject, { sha: commit.oid, type, page: 1, per_page: MAX_REFS })
    const [branches, tags] = await Promise.all([find('branch'), find('tag')])
    const list = ({ items, total }: typeof branches, none: string) => (
      <>
        <Rows empty={none}>
          {items.map(({ name }) => (
            <Row key={name}>
              <a href={links.tree(name)}>{name}</a>
            </Row>
          ))}
        </Rows>
        {total > items.length && <p class="dim">and {total - items.length} more</p>}
      </>
    )
    return {
      title: `Branches with ${shortId(commit.oid)} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>
            Branches and tags with <a href={links.commit(commit.oid)}>{titleOf(commit)}</a>
          </h1>
          <h2>Branches</h2>
          {list(branches, 'No branch has this commit.')}
          <h2>Tags</h2>
          {list(tags, 'No tag has this commit.')}
        </ProjectLayout>
      ),
    }
  },
})
