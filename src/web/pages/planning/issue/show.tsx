import { z } from 'zod'
import { onIssue } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import { paging } from '../../../../http/params.js'
import { listLinks } from '../../../../services/issuables/issues/links.js'
import { loadIssue } from '../../../../services/issuables/issues/list.js'
import { listParticipants } from '../../../../services/issuables/issues/participation.js'
import { listRelated } from '../../../../services/issuables/merge-requests/reading/of-issue.js'
import { listAwards } from '../../../../services/notes/award-emoji.js'
import { listDiscussions } from '../../../../services/notes/list.js'
import { aboutIssue } from '../../../../services/notes/noteables.js'
import { CommentForm } from '../../../components/discussion/comment-form.js'
import { Discussions } from '../../../components/discussion/discussion.js'
import { discussionInput, discussionParts } from '../../../components/discussion/load.js'
import { Reactions } from '../../../components/discussion/reactions.js'
import { versionOf } from '../../../components/editor/version.js'
import { ActionButton, FormFaults, FormTag } from '../../../components/form.js'
import { choicesFor } from '../../../components/issuable/choices.js'
import { withTaskButtons } from '../../../components/issuable/tasks.js'
import { TimeTracking } from '../../../components/issuable/time-tracking.js'
import { Badge, Pager } from '../../../components/list.js'
import { Prose } from '../../../components/markup.js'
import { Avatar } from '../../../components/people/avatar.js'
import { PersonLink } from '../../../components/people/person-link.js'
import { renderText } from '../../../components/render-text.js'
import { Time } from '../../../components/time.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { inUrl } from '../../../links.js'
import { page } from '../../../page.js'
import { addressOf } from './address.js'
import { Attributes } from './attributes.js'
import { texts } from './edit.js'
import { LinkedIssues } from './links.js'
import { mayBranch, RelatedRequests } from './merge-requests.js'
import { MoreActions } from './more.js'

const NOTES_PER_PAGE = 100
const MAX_SHOWN = 20

export const issuePage = page({
  at: 'P/-/issues/:issue_iid',
  access: onIssue('read_issue'),
  input: z.object({ page: paging.page, ...discussionInput }),
  async show({ ctx, caller, subject, input, view }) {
    const about = aboutIssue(subject)
    const { noteable } = about
    // as in the API, only who is signed in reads the discussion
    const reader = caller.user ? caller : null
    const shown = { page: 1, per_page: MAX_SHOWN }
    const none = { items: [], total: 0 }
    const [record, html, { items: discussions, total }, awards, related, linked, participants, choices] = await Promise.all([
      loadIssue(ctx, caller, subject.issue.id),
      renderText(ctx, caller, subject, subject.issue.description),
      reader ? listDiscussions(ctx, caller, noteable, { page: input.page, per_page: NOTES_PER_PAGE }) : none,
      listAwards(ctx, { type: 'Issue', id: subject.issue.id, noteable }, { page: 1, per_page: 100 }),
      reader ? listRelated(ctx, caller, subject, shown) : none,
      reader ? listLinks(ctx, caller, subject.issue.id) : [],
      listParticipants(ctx, subject, shown),
      reader && subject.may('update_issue') && subject.can('manage_issue') ? choicesFor(ctx, subject) : null,
    ])
    const { issue, author } = record
    const at = addressOf(subject)
    const mayUpdate = reader !== null && subject.may('update_issue')
    const toggleAt = reader && subject.can('award_emoji') ? `${at}/toggle_award_emoji` : null
    const reactions = <Reactions view={view} awards={awards.items} toggleAt={toggleAt} />
    const ticked = mayUpdate && html ? withTaskButtons(html, issue.task_count) : null
    return {
      title: `${issue.title} (#${issue.iid}) · ${fullPathOf(subject.project)}`,
      card: { text: issue.description },
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <div class="heading">
            <h1>
              {issue.title} <span class="dim">#{issue.iid}</span>
            </h1>
            {mayUpdate && (
              <a class="button" href={`${view.links.prefix}${at}/edit`}>
                {t('Edit')}
              </a>
            )}
          </div>
          <div class="line below dim">
            {issue.state === 'opened' ? (
              <Badge kind="success" icon="circle-dot" large>
                {t('Open')}
              </Badge>
            ) : (
              <Badge kind="merged" icon="circle-check" large>
                {t('Closed')}
              </Badge>
            )}
            {issue.confidential && <Badge kind="waiting">{t('confidential')}</Badge>}
            {issue.discussion_locked && <Badge>{t('locked')}</Badge>}
            <Avatar view={view} user={author} size="small" />
            <span>
              <Phrase
                text="{strong} opened this {time}"
                strong={
                  <strong class="quiet-name">
                    <PersonLink view={view} user={author} />
                  </strong>
                }
                time={<Time at={issue.created_at} />}
              />
              {issue.task_count > 0 &&
                ` · ${t('{taskCompletedCount} of {taskCount} tasks done', { taskCompletedCount: issue.task_completed_count, taskCount: issue.task_count })}`}
            </span>
          </div>
          <FormFaults view={view} />
          <div class="with-aside">
            <div>
              {html && (
                <section class="box">
                  {ticked === null ? (
                    <Prose html={html} />
                  ) : (
                    <FormTag view={view} action={`${at}/tasks`} class="tasks">
                      <input type="hidden" name="version" value={versionOf(issue.description)} />
                      <Prose html={ticked} />
                    </FormTag>
                  )}
                  {reactions}
                </section>
              )}
              {!html && reactions}
              <LinkedIssues view={view} subject={subject} linked={linked} mayLink={reader !== null && subject.may('manage_issue')} />
              <RelatedRequests view={view} subject={subject} related={related.items} mayCreate={reader !== null && mayBranch(subject)} />
              <h2>{t('Activity')}</h2>
              {!reader && (
                <p class="empty">
                  <Phrase
                    text="{link} to read and to take part."
                    link={<a href={`${view.links.prefix}/users/sign_in?${new URLSearchParams({ return_to: at })}`}>{t('Sign in')}</a>}
                  />
                </p>
              )}
              <Discussions
                view={view}
                discussions={discussions}
                {...(await discussionParts(ctx, caller, about, { at, discussions, asked: input }))}
              />
              <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
              {reader && subject.may('create_note') && (
                <CommentForm
                  view={view}
                  at={at}
                  project={subject}
                  discussions={discussions}
                  hint={t('Markdown; lines such as /close or /assign me are carried out.')}
                />
              )}
              {mayUpdate && (
                <ActionButton
                  view={view}
                  action={at}
                  method="PUT"
                  label={issue.state === 'opened' ? t('Close issue') : t('Reopen issue')}
                  fields={{ [fieldsOf(view, texts).issue.state_event.name]: issue.state === 'opened' ? 'close' : 'reopen' }}
                />
              )}
            </div>
            <aside>
              <Attributes view={view} subject={subject} record={record} choices={choices} mayUpdate={mayUpdate} />
              <TimeTracking view={view} at={at} times={subject.issue} mayUpdate={mayUpdate} />
              <section>
                <h2>{t('Participants')}</h2>
                <p class="people">
                  {participants.items.map((user) => (
                    <a key={user.id} href={`${view.links.prefix}/${inUrl(user.username)}`} title={user.name}>
                      <Avatar view={view} user={user} size="large" />
                      <span class="hidden">{user.name}</span>
                    </a>
                  ))}
                  {participants.total > MAX_SHOWN && (
                    <span class="dim">
                      {' '}
                      <Phrase text="and {count} more" count={participants.total - MAX_SHOWN} />
                    </span>
                  )}
                </p>
              </section>
              {reader && (
                <div class="toolbar">
                  <ActionButton
                    view={view}
                    action={`${at}/toggle_subscription`}
                    label={record.subscribed ? t('Unsubscribe') : t('Subscribe')}
                    fields={{ subscribed: String(!record.subscribed) }}
                  />
                  <ActionButton view={view} action={`${at}/todo`} label={t('Add a to-do')} />
                </div>
              )}
              {reader && <MoreActions view={view} subject={subject} mayUpdate={mayUpdate} />}
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})
