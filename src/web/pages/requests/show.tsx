import { z } from 'zod'
import { fullPathOf } from '../../../access/rules.js'
import { paging } from '../../../http/params.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { commitsSince, listRequestCommits } from '../../../services/issuables/merge-requests/reading/contents.js'
import { withLabelColors } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { sourceOf } from '../../../services/issuables/merge-requests/reading/load.js'
import { listAwards } from '../../../services/notes/award-emoji.js'
import { listDrafts } from '../../../services/notes/drafts.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutMergeRequest } from '../../../services/notes/noteables.js'
import { CommentForm } from '../../components/discussion/comment-form.js'
import { Discussions } from '../../components/discussion/discussion.js'
import { newComment } from '../../components/discussion/forms.js'
import { discussionInput, discussionParts } from '../../components/discussion/load.js'
import { Reactions } from '../../components/discussion/reactions.js'
import { SelectedSuggestions } from '../../components/discussion/suggestions.js'
import { isUnresolved } from '../../components/discussion/thread.js'
import { versionOf } from '../../components/editor/version.js'
import { PipelineBadge, shortId } from '../../components/files/code.js'
import { CommitText } from '../../components/files/commit.js'
import { ActionButton, Checkbox, FormTag } from '../../components/form.js'
import { choicesFor } from '../../components/issuable/choices.js'
import { Section } from '../../components/issuable/section.js'
import { withTaskButtons } from '../../components/issuable/tasks.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { PersonLine } from '../../components/people/person-link.js'
import { renderText } from '../../components/render-text.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks } from '../../links.js'
import { page } from '../../page.js'
import { AT, addressOf, read } from './address.js'
import { Attributes } from './attributes.js'
import { changedRequest } from './create.js'
import { ReviewBox } from './drafts.js'
import { RequestHead } from './head.js'
import { loadMerging, MergeBox } from './merge-box.js'
import { NewCommits } from './new-commits.js'

const NOTES_PER_PAGE = 100

export const mergeRequestPage = page({
  at: AT,
  access: read,
  input: z.object({ page: paging.page, ...discussionInput }),
  async show({ ctx, caller, subject, input, view }) {
    const about = aboutMergeRequest(subject)
    const [merging, html, { items: discussions, total }, drafts, awards, choices] = await Promise.all([
      loadMerging(ctx, caller, subject),
      renderText(ctx, caller, subject, subject.request.description),
      listDiscussions(ctx, caller, about.noteable, { page: input.page, per_page: NOTES_PER_PAGE }),
      listDrafts(ctx, caller, about.noteable),
      listAwards(ctx, { type: 'MergeRequest', id: subject.request.id, noteable: about.noteable }, { page: 1, per_page: 100 }),
      subject.may('update_merge_request') && subject.can('manage_merge_request') ? choicesFor(ctx, subject) : null,
    ])
    const { request, author, head_pipeline } = merging.record
    const at = addressOf(subject)
    const [parts, [{ labels } = { labels: [] }]] = await Promise.all([
      discussionParts(ctx, caller, about, { at, discussions, asked: input, head: request.sha, drafts }),
      withLabelColors(ctx, [merging.record]),
    ])
    const isOpen = request.state === 'opened'
    const reviewed = merging.reviewers.find(({ user }) => user.id === view.viewer?.id)?.sha
    const mayUpdate = subject.may('update_merge_request')
    const ticked = mayUpdate && html ? withTaskButtons(html, request.task_count) : null
    const toggleAt = subject.may('award_emoji') ? `${at}/toggle_award_emoji` : null
    const reactions = <Reactions view={view} awards={awards.items} toggleAt={toggleAt} />
    const unresolved = discussions.filter(isUnresolved)
    const f = fieldsOf(view, newComment)
    return {
      title: `${request.title} (!${request.iid}) · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead view={view} subject={subject} source={await sourceOf(ctx, caller, subject, subject.request)} tab="" drafts={drafts.length} />
          <div class="with-aside">
            <div>
              {html && (
                <section class="box" id="description">
                  {ticked === null ? (
                    <Prose html={html} />
                  ) : (
                    <FormTag view={view} action={`${at}/tasks`} class="tasks" attributes={{ 'data-into': 'description' }}>
                      <input type="hidden" name="version" value={versionOf(request.description)} />
                      <Prose html={ticked} />
                    </FormTag>
                  )}
                  {request.task_count > 0 && (
                    <p class="note dim">
                      <Phrase
                        text="{taskCompletedCount} of {taskCount} tasks are done."
                        taskCompletedCount={request.task_completed_count}
                        taskCount={request.task_count}
                      />
                    </p>
                  )}
                  {reactions}
                </section>
              )}
              {!html && reactions}
              {isOpen && reviewed && reviewed !== request.sha && (
                <NewCommits
                  view={view}
                  subject={subject}
                  since={t('your review')}
                  head={reviewed}
                  commits={await commitsSince(ctx, subject.project, request, reviewed)}
                />
              )}
              <MergeBox view={view} subject={subject} {...merging} />
              {parts.mayWrite && <ReviewBox view={view} parts={parts} drafts={drafts} mayApprove={subject.may('approve_merge_request')} />}
              <div class="heading">
                <h2>{t('Activity')}</h2>
                {unresolved[0] && (
                  <a class="button ghost" href={`#discussion_${unresolved[0].id}`}>
                    {t('First unresolved thread')}
                  </a>
                )}
              </div>
              <SelectedSuggestions view={view} {...parts} />
              <Discussions view={view} discussions={discussions} {...parts} />
              <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
              {parts.mayWrite && (
                <CommentForm
                  view={view}
                  at={at}
                  project={subject}
                  discussions={discussions}
                  drafts={drafts}
                  hint={t('Markdown; lines such as /approve or /assign me are carried out.')}
                >
                  <Checkbox {...f.thread} label={t('Start a thread, which has to be resolved')} />
                </CommentForm>
              )}
              {mayUpdate && (isOpen || request.state === 'closed') && (
                <ActionButton
                  view={view}
                  action={at}
                  method="PUT"
                  label={isOpen ? t('Close merge request') : t('Reopen merge request')}
                  fields={{ [fieldsOf(view, changedRequest).merge_request.state_event.name]: isOpen ? 'close' : 'reopen' }}
                />
              )}
            </div>
            <aside>
              <Section title={t('Author')}>
                <PersonLine view={view} user={author}>
                  <span class="dim">
                    <Time at={request.created_at} />
                  </span>
                </PersonLine>
              </Section>
              {head_pipeline && (
                <Section title={t('Pipeline')}>
                  <p>
                    <PipelineBadge state={head_pipeline.status} />
                  </p>
                </Section>
              )}
              <Attributes view={view} subject={subject} {...merging} labels={labels} choices={choices} />
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

/** The box of the merge alone, which the script asks for to keep the page up to date. */
export const mergeWidget = page({
  at: `${AT}/widget`,
  access: read,
  async show({ ctx, caller, subject, view }) {
    const merging = await loadMerging(ctx, caller, subject)
    return {
      title: `!${subject.request.iid}`,
      body: <MergeBox view={view} subject={subject} {...merging} />,
      narrow: true,
      headers: { 'cache-control': 'no-store' },
    }
  },
})

export const requestCommitsPage = page({
  at: `${AT}/commits`,
  access: read,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listRequestCommits(ctx, subject.project, subject.request, { page: input.page, per_page: NOTES_PER_PAGE })
    const users = await findUsersByAddress(
      ctx,
      items.map(({ author }) => author.email),
    )
    const links = projectLinks(view, fullPathOf(subject.project))
    return {
      title: `${t('Commits of !{iid}', { iid: subject.request.iid })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead view={view} subject={subject} source={await sourceOf(ctx, caller, subject, subject.request)} tab="/commits" />
          <Rows empty={t('There are no commits.')}>
            {items.map((commit) => (
              <Row
                key={commit.oid}
                actions={
                  <>
                    <a
                      href={`${view.links.prefix}${addressOf(subject)}/diffs?commit_id=${commit.oid}`}
                      aria-label={t('Changes of {shortId}', { shortId: shortId(commit.oid) })}
                    >
                      {t('Changes')}
                    </a>
                    <a href={links.commit(commit.oid)}>
                      <code>{shortId(commit.oid)}</code>
                    </a>
                  </>
                }
              >
                <CommitText view={view} commit={commit} links={links} users={users} />
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})
