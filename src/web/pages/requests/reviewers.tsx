import { ActionButton } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { PersonLine } from '../../components/people/person-link.js'
import { t, text } from '../../language/language.js'
import type { PageView } from '../../page.js'
import type { Merging } from './merge-box.js'

const STATES = {
  unreviewed: ['clock', 'waiting', text('has not reviewed yet')],
  reviewed: ['message-square', 'dim', text('reviewed')],
  requested_changes: ['circle-x', 'danger', text('requested changes')],
  approved: ['circle-check', 'success', text('approved')],
} as const

interface ReviewersProps extends Pick<Merging, 'reviewers' | 'approvals'> {
  view: PageView
  /** The merge request, for those who may ask for another review. */
  at: string | null
}

/** Who was asked for a review, who has given one, and what they say (WB-601). */
export function Reviewers({ view, reviewers, approvals, at }: ReviewersProps) {
  const others = approvals.approvers.filter(({ id }) => !reviewers.some(({ user }) => user.id === id))
  const all = [...reviewers, ...others.map((user) => ({ user, state: 'approved' as const, asked: false }))]
  return (
    <>
      {all.map(({ user, state, asked }) => {
        const [icon, look, word] = STATES[state]
        return (
          <PersonLine key={user.id} view={view} user={user}>
            <span class={`person-state ${look}`} title={t(word)}>
              <Icon name={icon} />
              <span class="hidden">{t(word)}</span>
            </span>
            {at !== null && asked && (state === 'reviewed' || state === 'requested_changes') && (
              <ActionButton
                view={view}
                action={`${at}/another_review`}
                label={t('Ask again')}
                what={t('for a review of {name}', { name: user.name })}
                fields={{ reviewer_id: String(user.id) }}
                class="quiet"
                into="side_reviewer"
              />
            )}
          </PersonLine>
        )
      })}
      {all.length === 0 && <PersonLine view={view} user={null} />}
    </>
  )
}
