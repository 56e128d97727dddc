import { fullPathOf } from '../../../../access/rules.js'
import { headCoverage } from '../../../../services/ci/reports/coverage.js'
import { commitsSince, listRequestCommits } from '../../../../services/issuables/merge-requests/reading/contents.js'
import { sourceOf } from '../../../../services/issuables/merge-requests/reading/load.js'
import { recordSeenVersion } from '../../../../services/issuables/merge-requests/reading/seen.js'
import { repositoryOf } from '../../../../services/repository/repositories.js'
import { diffFiles } from '../../../components/diff/diff-tables.js'
import { SelectedSuggestions } from '../../../components/discussion/suggestions.js'
import { Pager } from '../../../components/list.js'
import { plural, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { projectLinks } from '../../../links.js'
import { page } from '../../../page.js'
import { AT, addressOf, read } from '../address.js'
import { RequestHead } from '../head.js'
import { NewCommits } from '../new-commits.js'
import { changesInput, withQuery } from './address.js'
import { FILES_PER_PAGE, filesOf, load } from './load.js'
import { reviewOf } from './review.js'
import { CommitBar, numberOf, Versions } from './versions.js'

const MAX_COMMITS = 100

/** The changes of a merge request, with what was said about them (WB-93). */
export const requestChangesPage = page({
  at: `${AT}/diffs`,
  access: read,
  input: changesInput,
  async show({ ctx, caller, subject, input, view }) {
    const shown = await load(ctx, caller, subject, view, input)
    const { changes, at, kept, seen, parts } = shown
    const { version, versions, commit } = changes
    const files = filesOf(changes, input)
    const isNewest = version !== null && version.id === versions[0]?.id
    const looked = isNewest && seen.version !== version.id ? versions.find(({ id }) => id === seen.version) : undefined
    if (isNewest && seen.version !== version.id) ctx.jobs.add('seen version', () => recordSeenVersion(ctx, caller, subject.request.id, version.id))
    const head = isNewest && !commit ? version.head_commit_sha : null
    const coverage = head === null ? undefined : await headCoverage(ctx, subject, { pipeline: subject.request.head_pipeline_id, sha: head }, files)
    const links = projectLinks(view, fullPathOf(subject.project))
    const to = view.links.prefix + at
    return {
      title: `${t('Changes of !{iid}', { iid: subject.request.iid })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead
            view={view}
            subject={subject}
            source={await sourceOf(ctx, caller, subject, subject.request)}
            tab="/diffs"
            drafts={shown.drafted}
          />
          {looked && (
            <NewCommits
              view={view}
              subject={subject}
              since={t('your last look')}
              head={looked.head_commit_sha}
              commits={await commitsSince(ctx, subject.project, subject.request, looked.head_commit_sha)}
            >
              {t('What has changed since version {number}', { number: numberOf(changes, looked.id) })}
            </NewCommits>
          )}
          {commit && (
            <CommitBar
              shown={shown}
              commits={(await listRequestCommits(ctx, subject.project, subject.request, { page: 1, per_page: MAX_COMMITS })).items}
            />
          )}
          <div class="toolbar">
            <Versions shown={shown} />
            {shown.lineMapping && version && (
              <>
                <span class="dim">
                  <Phrase
                    text="Comments are about version {number}: they can be written on the lines that its changes have as they are here."
                    number={numberOf(changes, version.id)}
                  />
                </span>
                <a href={withQuery(to, { ...(input.view && { view: input.view }), diff_id: String(version.id) })}>{t('All its changes')}</a>
              </>
            )}
            <span class="last toolbar">
              {input.view === 'parallel' ? <a href={withQuery(to, { ...kept, view: 'inline' })}>{t('Unified')}</a> : <strong>{t('Unified')}</strong>}
              {input.view === 'parallel' ? (
                <strong>{t('Side-by-side')}</strong>
              ) : (
                <a href={withQuery(to, { ...kept, view: 'parallel' })}>{t('Side-by-side')}</a>
              )}
              <a href={withQuery(to, { ...kept, w: input.w ? '0' : '1' })}>{input.w ? t('Show whitespace changes') : t('Hide whitespace changes')}</a>
            </span>
          </div>
          {input.only && (
            <p>
              <a href={withQuery(to, kept)}>{t('All files')}</a>
            </p>
          )}
          <SelectedSuggestions view={view} {...parts} />
          {files.length === 0 && <p class="empty">{t('There are no changes.')}</p>}
          {
            await diffFiles(ctx, {
              files,
              truncated: changes.truncated,
              similarity: changes.similarity,
              blobs: changes.blobs,
              repository: repositoryOf(ctx, subject.project),
              links,
              from: changes.from,
              to: changes.to ?? subject.request.target_branch,
              parallel: input.view === 'parallel',
              ignoreSpace: input.w === true,
              raw: `${view.links.prefix}${addressOf(subject)}.diff`,
              whole: shown.whole,
              review: reviewOf(shown, files),
              ...(coverage && { coverage }),
            })
          }
          {shown.moreThreads > 0 && (
            <p class="flash">
              <Phrase
                text="{moreThreads} more threads about these files are on the {link}."
                moreThreads={shown.moreThreads}
                link={<a href={view.links.prefix + addressOf(subject)}>{t('overview')}</a>}
              />
            </p>
          )}
          {!input.only && <Pager view={view} page={input.page} perPage={FILES_PER_PAGE} total={changes.files.length} />}
          {shown.drafted > 0 && (
            <p class="finish">
              <a class="button primary" href={`${view.links.prefix}${addressOf(subject)}#review`}>
                {plural(shown.drafted, 'Finish your review (1 comment)', 'Finish your review ({count} comments)')}
              </a>
            </p>
          )}
        </ProjectLayout>
      ),
    }
  },
})
