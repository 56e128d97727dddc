import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { nullOnFailure, refused } from '../../../failures.js'
import type { FileDiff } from '../../../git/types.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, paging, str } from '../../../http/params.js'
import { partsOfMessage } from '../../../rules/commit-title.js'
import { withLabelColors } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { listRequestsOfCommit } from '../../../services/issuables/merge-requests/reading/of-commit.js'
import { pickCommit, revertCommit } from '../../../services/issuables/merge-requests/reading/picked.js'
import { type DiscussionRecord, listDiscussions } from '../../../services/notes/list.js'
import { aboutCommit, type NoteableSubject } from '../../../services/notes/noteables.js'
import { commitRange, threadAtLine } from '../../../services/notes/positions.js'
import { checkBody, createNote } from '../../../services/notes/write.js'
import { createBranch } from '../../../services/repository/branches.js'
import { diffOf, getCommit, refsOf } from '../../../services/repository/commits/read.js'
import { signatureOfCommit } from '../../../services/repository/commits/signature.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { type DiffReview, fileAnchor, type Line, linesOf } from '../../components/diff/diff.js'
import { diffFiles, shownFiles } from '../../components/diff/diff-tables.js'
import { openedFile, openedLines, WholeFileLink } from '../../components/diff/whole-file.js'
import { unsent } from '../../components/discussion/asked.js'
import { CommentForm } from '../../components/discussion/comment-form.js'
import { Discussions } from '../../components/discussion/discussion.js'
import { noteForms } from '../../components/discussion/forms.js'
import { discussionInput, discussionParts } from '../../components/discussion/load.js'
import { Thread } from '../../components/discussion/thread.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { Author, CopyButton, PipelineBadge, shortId } from '../../components/files/code.js'
import { momentOf, titleOf } from '../../components/files/commit.js'
import { Checkbox, Field, FormFaults, FormTag, Hidden, Submit } from '../../components/form.js'
import { RequestRow } from '../../components/issuable/rows.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { LongText } from '../../page-part.js'
import { beside, DiffViews, views } from './commits.js'

const MAX_DISCUSSIONS = 100
/** Merge requests of a commit on one page. */
const PER_PAGE = 20

const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-`

const signatures = (): Record<string, [string, 'success' | 'waiting']> => ({
  verified: [t('Verified'), 'success'],
  unverified: [t('Unverified signature'), 'waiting'],
  same_user_different_email: [t('Signed with another address of the user'), 'waiting'],
  other_user: [t('Signed by another user'), 'waiting'],
  unverified_key: [t('Signed with an unverified key'), 'waiting'],
  unknown_key: [t('Signed with an unknown key'), 'waiting'],
})

const picksTexts = () =>
  ({
    cherry_pick: { verb: t('Cherry-pick'), does: t('Makes the same change on another branch.'), prefix: 'cherry-pick' },
    revert: { verb: t('Revert'), does: t('Takes the change back by a new commit.'), prefix: 'revert' },
  }) as const

const picked = z.object({ start_branch: orDefault(documented.filled(), ''), create_merge_request: opt(str()) })

/** Makes the change of a commit, or its reverse, on a branch. */
const PickForm = ({
  view,
  subject,
  oid,
  kind,
}: {
  view: PageView
  subject: ProjectSubject
  oid: string
  kind: keyof ReturnType<typeof picksTexts>
}) => {
  const isOwn = view.submitted?.values['pick'] === kind
  const own = isOwn ? view : { ...view, submitted: null }
  const { verb, does } = picksTexts()[kind]
  const f = fieldsOf(own, picked)
  return (
    <FormTag view={view} action={`${within(subject)}/commit/${oid}/${kind}`}>
      {isOwn && <FormFaults view={view} />}
      <p class="dim">{does}</p>
      <input type="hidden" name="pick" value={kind} />
      <Field {...f.start_branch} within={kind} label={t('Branch')} value={subject.project.default_branch} />
      {subject.can('create_merge_request') && (
        <Checkbox {...f.create_merge_request} label={t('On a new branch, with a merge request')} value={kind} />
      )}
      <Submit label={verb} class="" />
    </FormTag>
  )
}

export const commitPage = page({
  at: 'P/-/commit/:sha',
  access: onProject('download_code'),
  input: z.object({ sha: str(), ...views, ...openedLines, only: opt(str()), on: opt(str()), line: opt(str()), ...discussionInput }),
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const about = await aboutCommit(ctx, subject, input.sha)
    const commit = about.noteable.commit ?? (await getCommit(ctx, subject, input.sha))
    const [diff, signature, { users, states }, discussions] = await Promise.all([
      diffOf(ctx, subject, commit),
      nullOnFailure(signatureOfCommit(ctx, subject, commit.oid)),
      beside(ctx, subject, [commit]),
      listDiscussions(ctx, caller, about.noteable, { page: 1, per_page: MAX_DISCUSSIONS }),
    ])
    const action = `${within(subject)}/commit/${commit.oid}`
    const [whole, parts] = await Promise.all([
      openedFile(repositoryOf(ctx, subject.project), commit.oid, diff.files, input),
      discussionParts(ctx, caller, about, { at: action, discussions: discussions.items, asked: input }),
    ])
    const { files, all, instead } = shownFiles(
      view,
      diff.files.map((file) => (whole?.new_path === file.new_path ? whole : file)),
      input.only,
    )
    const { first, text } = partsOfMessage(commit.message)
    const title = first.trim() || titleOf(commit)
    const sign = signature && signatures()[signature.status]
    const pipeline = states.get(commit.oid)
    const [parallel, ignoreSpace] = [input.view === 'parallel', input.w ?? false]
    const mayComment = view.viewer !== null && subject.can('comment_on_commit')
    const placed = placesOf(discussions.items, files, (file) => !instead(file))
    const busy = new Set([input.on, ...[...placed.keys()].map((key) => key.split('_', 1)[0])])
    const review: DiffReview = {
      list: null,
      head: (file) => <WholeFileLink view={view} file={file} />,
      above: (file) => mayComment && <LineForm view={view} file={file} />,
      under: (file, line) => {
        const [anchor, key] = [fileAnchor(file.new_path), keyOf(line)]
        const isNew = mayComment && input.on === anchor && input.line === key
        const own = placed.get(`${anchor}_${key}`) ?? []
        if (own.length === 0 && !isNew) return null
        return (
          <>
            {own.map((discussion) => (
              <div key={discussion.id} class="box thread" id={`discussion_${discussion.id}`}>
                <Thread {...parts} view={view} discussion={discussion} inPlace />
              </div>
            ))}
            {isNew && <LineComment project={subject} view={view} action={action} file={file} place={key} />}
          </>
        )
      },
      formOf: (file) => (mayComment ? `on_${fileAnchor(file.new_path)}` : null),
      isClosed: () => false,
      mayComment: () => true,
      picture: () => null,
      instead,
      isPlain: (file) => !busy.has(fileAnchor(file.new_path)),
    }
    // the text of a line that is not shown stands in the form at the end
    const isOnLine =
      view.submitted?.values['line'] !== undefined &&
      files.some((file) => fileAnchor(file.new_path) === input.on && linesOf(file.diff).some((line) => keyOf(line) === input.line))
    const inPlace = new Set([...placed.values()].flat())
    const elsewhere = discussions.items.filter((discussion) => !inPlace.has(discussion))
    const mayPick = view.viewer !== null && subject.can('push_code')
    return {
      title: `${titleOf(commit)} · ${fullPathOf(subject.project)}`,
      card: { text },
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>
            <LongText text={title} />
          </h1>
          {text && (
            <pre class="message">
              <LongText text={text} />
            </pre>
          )}
          <p class="dim">
            <Phrase
              text="{author} wrote this {time}"
              author={<Author view={view} commit={commit} users={users} />}
              time={<Time at={momentOf(commit.author)} />}
            />
            {commit.committer.email !== commit.author.email && <Phrase text=", committed by {name}" name={commit.committer.name} />}{' '}
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
            <Phrase
              text="Commit {oid} {copyButton}"
              oid={<code id="commit-id">{commit.oid}</code>}
              copyButton={<CopyButton label={t('Copy the commit id')} of="commit-id" />}
            />
            {commit.parents.map((parent) => (
              <>
                {' · '}
                <Phrase
                  text="parent {link}"
                  link={
                    <a key={parent} href={links.commit(parent)}>
                      <code>{shortId(parent)}</code>
                    </a>
                  }
                />
              </>
            ))}
            {' · '}
            <a href={links.tree(commit.oid)}>{t('Files')}</a>
            {' · '}
            <a href={`${links.commit(commit.oid)}.patch`}>{t('Patch')}</a>
            {' · '}
            <a href={`${links.commit(commit.oid)}.diff`}>{t('Diff')}</a>
            {' · '}
            <a href={`${links.commit(commit.oid)}/branches`}>{t('Branches and tags with this commit')}</a>
            {view.viewer && (
              <>
                {' · '}
                <a href={`${links.commit(commit.oid)}/merge_requests`}>{t('Merge requests')}</a>
                {subject.can('read_pipeline') && (
                  <>
                    {' · '}
                    <a href={`${links.commit(commit.oid)}/pipelines`}>{t('Pipelines')}</a>
                  </>
                )}
              </>
            )}
          </p>
          {mayPick && (
            <details class="picks" open={view.submitted?.values['pick'] !== undefined}>
              <summary>{t('Cherry-pick or revert')}</summary>
              <div class="columns">
                <PickForm view={view} subject={subject} oid={commit.oid} kind="cherry_pick" />
                <PickForm view={view} subject={subject} oid={commit.oid} kind="revert" />
              </div>
            </details>
          )}
          <DiffViews view={view} parallel={parallel} ignoreSpace={ignoreSpace} />
          {all}
          {
            await diffFiles(
              ctx,
              {
                files,
                review,
                truncated: diff.truncated,
                similarity: diff.similarity,
                blobs: diff.blobs,
                repository: repositoryOf(ctx, subject.project),
                links,
                from: commit.parents[0] ?? null,
                to: commit.oid,
                parallel,
                ignoreSpace,
                raw: `${links.commit(commit.oid)}.diff`,
              },
              placed.size === 0 && input.on === undefined
                ? [links.home, view.address, mayComment, commit.oid, input.only, input.open, input.around, parallel, ignoreSpace]
                : null,
            )
          }
          {(elsewhere.length > 0 || mayComment) && <h2>{t('Comments')}</h2>}
          <Discussions {...parts} view={view} discussions={elsewhere} />
          {discussions.total > discussions.items.length && (
            <p class="dim">
              <Phrase text="{count} more are in the API." count={discussions.total - discussions.items.length} />
            </p>
          )}
          {mayComment && (
            <CommentForm
              view={isOnLine || view.submitted?.values['pick'] !== undefined ? unsent(view) : view}
              at={action}
              project={subject}
              discussions={discussions.items}
              hint={t('In Markdown.')}
            />
          )}
        </ProjectLayout>
      ),
    }
  },
})

const keyOf = ({ old, new: now }: Pick<Line, 'old' | 'new'>) => `${old ?? ''}_${now ?? ''}`

/** The threads on lines that are shown, by file and line. */
function placesOf(discussions: DiscussionRecord[], files: FileDiff[], isShown: (file: FileDiff) => boolean): Map<string, DiscussionRecord[]> {
  const placed = new Map<string, DiscussionRecord[]>()
  const paths = new Set(discussions.map(({ notes }) => notes[0]?.note.position?.new_path))
  const about = files.filter((file) => paths.has(file.new_path) && isShown(file))
  const shown = new Set(about.flatMap((file) => linesOf(file.diff).map((line) => `${fileAnchor(file.new_path)}_${keyOf(line)}`)))
  for (const discussion of discussions) {
    const position = discussion.notes[0]?.note.position
    if (!position?.new_path) continue
    const key = `${fileAnchor(position.new_path)}_${keyOf({ old: position.old_line ?? null, new: position.new_line ?? null })}`
    if (shown.has(key)) placed.set(key, [...(placed.get(key) ?? []), discussion])
  }
  return placed
}

/** The form that the buttons beside lines send: it shows the page with a form under the line. */
const LineForm = ({ view, file }: { view: PageView; file: FileDiff }) => {
  const anchor = fileAnchor(file.new_path)
  const [path = '', query = ''] = view.address.split('?', 2)
  const kept = Object.entries(Object.fromEntries(new URLSearchParams(query))).filter(([name]) => name !== 'line' && name !== 'on')
  return (
    <form id={`on_${anchor}`} method="get" action={`${view.links.prefix}${path}#comment`}>
      {[...kept, ['on', anchor] as const].map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </form>
  )
}

const lineComment = z.object({ path: str(), line: str(), note: z.object({ note: orDefault(documented.filled(), '') }) })

const LineComment = ({
  view,
  action,
  project,
  file,
  place,
}: {
  view: PageView
  action: string
  project: ProjectSubject
  file: FileDiff
  place: string
}) => {
  const f = fieldsOf(view, lineComment)
  return (
    <div class="box note" id="comment">
      <EditorForm view={view} action={`${action}/lines`}>
        <FormFaults view={view} />
        <Hidden {...f.path} value={file.new_path} />
        <Hidden {...f.line} value={place} />
        <input type="hidden" name="on" value={fileAnchor(file.new_path)} />
        <Editor {...f.note.note} within="line" label={t('Comment on this line')} rows={4} hint={t('In Markdown.')} autofocus project={project} />
        <Submit label={t('Comment on line')} class="" />
      </EditorForm>
    </div>
  )
}

const commentRule = onProjectSignedIn('comment_on_commit')

/** A commit that the caller may comment on. */
const onCommit: Access<NoteableSubject, true> = {
  ...commentRule,
  path: commentRule.path.extend({ sha: z.string() }),
  find: async (ctx, caller, params) => aboutCommit(ctx, await commentRule.find(ctx, caller, params), params['sha'] as string),
}

export const commitNotes = noteForms({
  at: 'P/-/commit/:sha',
  access: () => onCommit,
  on: commitPage,
  about: (subject) => subject,
  addressOf: (subject) => `${within(subject)}/commit/${subject.noteable.commit?.oid}`,
})

export const lineCommentForm = form({
  at: 'P/-/commit/:sha/lines',
  files: true,
  access: onCommit,
  input: lineComment,
  on: commitPage,
  async submit({ ctx, caller, subject, input: { path, line, note } }) {
    const [old, now] = line.split('_').map((number) => (/^\d{1,9}$/.test(number) ? Number(number) : null))
    checkBody(note.note)
    const thread = await threadAtLine(ctx, subject, commitRange(subject), { old_line: old ?? null, new_line: now ?? null, new_path: path })
    if (!thread) throw refused(t('The change has no such line.'))
    const made = await createNote(ctx, caller, subject, { body: note.note }, thread)
    return new Redirect(`${within(subject)}/commit/${subject.noteable.commit?.oid}#note_${made.note.id}`)
  },
})

/** The form of a cherry-pick or a revert. */
const pickForm = (kind: keyof ReturnType<typeof picksTexts>) =>
  form({
    at: `P/-/commit/:sha/${kind}`,
    access: onProjectSignedIn('push_code'),
    input: picked.extend({ sha: str() }),
    on: commitPage,
    async submit({ ctx, caller, subject, input: { sha, start_branch: start, create_merge_request } }) {
      const pick = kind === 'revert' ? revertCommit : pickCommit
      const { oid } = await getCommit(ctx, subject, sha)
      const commit = (branch: string, dry_run = false) => pick(ctx, subject, caller, { sha: oid, branch, dry_run })
      if (!create_merge_request) {
        const made = await commit(start)
        return new Redirect(`${within(subject)}/commit/${made?.oid}`, { notice: t('This commit is on the branch {start}.', { start }) })
      }
      await commit(start, true)
      const branch = `${picksTexts()[kind].prefix}-${shortId(oid)}`
      await createBranch(ctx, subject, caller, { branch, ref: start })
      await commit(branch)
      const fields = new URLSearchParams({ 'merge_request[source_branch]': branch, 'merge_request[target_branch]': start })
      return new Redirect(`${within(subject)}/merge_requests/new?${fields}`, { notice: t('The change is on the branch {branch}.', { branch }) })
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
        {total > items.length && (
          <p class="dim">
            <Phrase text="and {total} more" total={total - items.length} />
          </p>
        )}
      </>
    )
    return {
      title: `${t('Branches with {shortId}', { shortId: shortId(commit.oid) })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>
            <Phrase text="Branches and tags with {link}" link={<a href={links.commit(commit.oid)}>{titleOf(commit)}</a>} />
          </h1>
          <h2>{t('Branches')}</h2>
          {list(branches, t('No branch has this commit.'))}
          <h2>{t('Tags')}</h2>
          {list(tags, t('No tag has this commit.'))}
        </ProjectLayout>
      ),
    }
  },
})

/** The merge requests that have a commit. */
export const requestsOfCommitPage = page({
  at: 'P/-/commit/:sha/merge_requests',
  access: onProjectSignedIn('download_code'),
  input: z.object({ sha: str(), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const commit = await getCommit(ctx, subject, input.sha)
    const { items, total } = await listRequestsOfCommit(ctx, caller, subject, { sha: commit.oid, page: input.page, per_page: PER_PAGE })
    const shown = await withLabelColors(ctx, items)
    return {
      title: `${t('Merge requests with {shortId}', { shortId: shortId(commit.oid) })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>
            <Phrase text="Merge requests with {link}" link={<a href={links.commit(commit.oid)}>{titleOf(commit)}</a>} />
          </h1>
          <Rows empty={t('No merge request that you may see has this commit.')}>
            {shown.map((record) => (
              <RequestRow key={record.request.id} view={view} withProject={false} record={record} />
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})
