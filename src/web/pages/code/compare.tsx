import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { fullPathOf, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, rowId, str } from '../../../http/params.js'
import { compareAcross, getInNetwork, networkOf } from '../../../services/projects/comparisons.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { diffFiles, shownFiles } from '../../components/diff/diff-tables.js'
import { openedFile, openedLines, WholeFileLink } from '../../components/diff/whole-file.js'
import { Field, SelectField, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'
import { type PageView, page, Redirect } from '../../page.js'
import { beside, CommitList, DiffViews, views } from './commits.js'

const PER_PAGE = 40

interface Asked {
  from: string
  to: string
  /** The project that has `from`. */
  other: ProjectSubject
}

/** Chooses what is compared. */
async function CompareForm({
  ctx,
  caller,
  subject,
  view,
  asked,
}: {
  ctx: Context
  caller: Caller
  subject: ProjectSubject
  view: PageView
  asked: Asked
}) {
  const { from, to, other } = asked
  const network = await networkOf(ctx, caller, subject)
  const known = network.some(({ id }) => id === other.project.id)
    ? network
    : [{ id: other.project.id, fullPath: fullPathOf(other.project) }, ...network]
  const f = fieldsOf(view, compared)
  return (
    <form method="get" action={projectLinks(view, fullPathOf(subject.project)).page('compare')}>
      <div class="columns">
        {known.length > 1 && (
          <SelectField
            {...f.from_project_id}
            label={t('From the project')}
            value={String(other.project.id)}
            choices={known.map(({ id, fullPath }) => ({ value: String(id), label: fullPath }))}
          />
        )}
        <Field {...f.from} label={t('From')} value={from} hint={t('A branch, a tag or a commit.')} />
        <Field {...f.to} label={t('To')} value={to} hint={t('Of {fullPath}.', { fullPath: fullPathOf(subject.project) })} />
      </div>
      <Submit label={t('Compare')} />
    </form>
  )
}

/** Where a comparison is, without the prefix. */
const compareAt = (subject: ProjectSubject, { from, to, other }: Asked, dots = '...') => {
  const query = other.project.id === subject.project.id ? '' : `?from_project_id=${other.project.id}`
  return `${homeOfProject(subject)}/-/compare/${inUrl(from)}${dots}${inUrl(to)}${query}`
}

const compared = z.object({ from: orDefault(documented.filled(), ''), to: orDefault(documented.filled(), ''), from_project_id: opt(rowId()) })

export const compareFormPage = page({
  at: 'P/-/compare',
  access: onProject('download_code'),
  input: compared,
  async show({ ctx, caller, subject, input, view }) {
    const other = await getInNetwork(ctx, caller, subject, input.from_project_id)
    const asked = { from: input.from || other.project.default_branch, to: input.to, other }
    if (input.from && input.to) return new Redirect(compareAt(subject, asked))
    return {
      title: `${t('Compare')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>{t('Compare')}</h1>
          {await CompareForm({ ctx, caller, subject, view, asked })}
        </ProjectLayout>
      ),
    }
  },
})

export const comparePage = page({
  at: 'P/-/compare/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str(), from_project_id: opt(rowId()), ...openedLines, only: opt(str()), ...views }),
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const [, from = '', dots = '...', to = ''] = /^([\s\S]+?)(\.{2,3})([\s\S]+)$/.exec(input.path) ?? []
    if (from === '') throw notFound()
    const other = await getInNetwork(ctx, caller, subject, input.from_project_id)
    const isAcross = other.project.id !== subject.project.id
    const straight = dots === '..'
    const compared = { from, to, straight }
    const { commits, diffs, overflow, similarity, blobs, base, head } = await compareAcross(ctx, subject, other, compared)
    const repository = repositoryOf(ctx, subject.project)
    const isOffered = view.viewer !== null && subject.can('create_merge_request') && commits.length > 0
    const newest = [...commits].reverse()
    const shown = newest.slice(0, PER_PAGE)
    const [compareForm, around, whole, isFromBranch, isToBranch] = await Promise.all([
      CompareForm({ ctx, caller, subject, view, asked: { from, to, other } }),
      beside(ctx, subject, shown),
      openedFile(repository, head, diffs, input),
      isOffered ? repositoryOf(ctx, other.project).ref(`refs/heads/${from}`) : null,
      isOffered ? repository.ref(`refs/heads/${to}`) : null,
    ])
    const { files, all, instead } = shownFiles(view, diffs, input.only)
    const [parallel, ignoreSpace] = [input.view === 'parallel', input.w ?? false]
    const request = new URLSearchParams({
      'merge_request[source_branch]': to,
      'merge_request[target_branch]': from,
      'merge_request[target_project_id]': String(other.project.id),
    })
    const name = isAcross ? `${fullPathOf(other.project)}:${from}` : from
    return {
      title: `${name} ${dots} ${to} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <div class="heading">
            <h1>
              {name} → {to}
            </h1>
            {isFromBranch && isToBranch && (
              <a class="button" href={`${links.page('merge_requests/new')}?${request}`}>
                {t('New merge request')}
              </a>
            )}
          </div>
          <details>
            <summary>{t('Compare others')}</summary>
            {compareForm}
          </details>
          {commits.length === 0 && (
            <p class="empty">
              <Phrase text="Everything in {to} is in {name} already." to={to} name={name} />
            </p>
          )}
          <CommitList view={view} commits={shown} links={links} {...around} />
          {newest.length > shown.length && (
            <p>
              <a href={links.commits(to)}>
                <Phrase text="{count} more commits" count={newest.length - shown.length} />
              </a>
            </p>
          )}
          <DiffViews view={view} parallel={parallel} ignoreSpace={ignoreSpace} />
          {all}
          {
            await diffFiles(
              ctx,
              {
                files,
                whole,
                truncated: overflow,
                similarity,
                blobs,
                repository,
                links,
                from: isAcross && straight ? null : base,
                to: head,
                parallel,
                ignoreSpace,
                raw: isAcross ? null : `${links.page('compare')}/${encodeURIComponent(from)}${dots}${encodeURIComponent(to)}.diff`,
                review: {
                  list: null,
                  head: (file) => <WholeFileLink view={view} file={file} />,
                  above: () => null,
                  under: () => null,
                  formOf: () => null,
                  mayComment: () => false,
                  picture: () => null,
                  isClosed: () => false,
                  instead,
                  isPlain: () => true,
                },
              },
              [links.home, view.address, base, head, isAcross, input.only, input.open, input.around, parallel, ignoreSpace],
            )
          }
        </ProjectLayout>
      ),
    }
  },
})
