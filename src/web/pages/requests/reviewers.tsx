import { Icon } from '../../components/icon.js'
import { Section } from '../../components/issuable/section.js'
import { PersonLine } from '../../components/people/person-link.js'
import type { PageView } from '../../page.js'
import type { Merging } from './merge-box.js'

const STATES = {
  unreviewed: ['clock', 'waiting', 'has not reviewed yet'],
  reviewed: ['message-square', 'dim', 'reviewed'],
  requested_changes: ['circle-x', 'danger', 'requested changes'],
  approved: ['circle-check', 'success', 'approved'],
} as const

/** Who was asked for a review, who has given one, and what they say (WB-601). */
export function Reviewers({ view, reviewers, approvals }: { view: PageView } & Pick<Merging, 'reviewers' | 'approvals'>) {
  const others = approvals.approvers.filter(({ id }) => !reviewers.some(({ user }) => user.id === id))
  const all = [...reviewers, ...others.map((user) => ({ user, state: 'approved' as const }))]
  return (
    <Section title="Reviewers">
      {all.map(({ user, state }) => {
        const [icon, look, text] = STATES[state]
        return (
          <PersonLine key={user.id} view={view} user={user}>
            <span class={`person-state ${look}`} title={text}>
              <Icon name={icon} />
              <span class="hidden">{text}</span>
            </span>
          </PersonLine>
        )
      })}
      {all.length === 0 && <PersonLine view={view} user={null} />}
    </Section>
  )
}
