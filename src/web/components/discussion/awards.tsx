import { emojiOf } from '../../../lib/text/emoji.js'
import type { NoteAward } from '../../../services/notes/award-emoji.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { FormTag } from '../form.js'
import type { DiscussionParts } from './shown.js'

/** The emoji of a name, or the name as it is typed. */
export const characterOf = (name: string) => emojiOf(name) ?? `:${name}:`

/** The reactions that are offered, by their names. */
export const OFFERED = ['thumbsup', 'thumbsdown', 'smile', 'tada', 'confused', 'heart', 'rocket', 'eyes']

interface AwardsProps extends Pick<DiscussionParts, 'mayAward' | 'back'> {
  view: PageView
  action: string
  awards: Omit<NoteAward, 'note'>[]
  /** The id of the element that the script replaces. */
  into: string
  /** The page that offers emoji; null: this is it. */
  more: string | null
}

/** The emoji on something, each of which gives or takes back that of the reader. */
export function Awards({ view, action, awards, mayAward, back, into, more }: AwardsProps) {
  const title = ({ people, count, name }: Omit<NoteAward, 'note'>) =>
    `${count > people.length ? t('{names} and {count} more', { names: people.join(', '), count: count - people.length }) : people.join(', ')}: ${name.replaceAll('_', ' ')}`
  if (!mayAward)
    return awards.length === 0 ? null : (
      <p class="awards">
        {awards.map((award) => (
          <span key={award.name} class="badge" title={title(award)}>
            {characterOf(award.name)} {award.count}
          </span>
        ))}
      </p>
    )
  const others = OFFERED.filter((name) => !awards.some((award) => award.name === name))
  const offer = more !== null && (
    <a href={more} data-into={into} aria-label={t('React')}>
      ☺
    </a>
  )
  if (offer && awards.length === 0) return <p class="awards">{offer}</p>
  return (
    <FormTag view={view} action={action} class="awards" attributes={{ 'data-into': into }}>
      {back && <input type="hidden" name="back" value={back} />}
      {awards.map((award) => (
        <button key={award.name} type="submit" name="name" value={award.name} title={title(award)} {...(award.mine && { 'aria-pressed': 'true' })}>
          {characterOf(award.name)} {award.count}
        </button>
      ))}
      {offer ||
        others.map((name) => (
          <button key={name} type="submit" name="name" value={name} aria-label={name.replaceAll('_', ' ')}>
            {characterOf(name)}
          </button>
        ))}
    </FormTag>
  )
}
