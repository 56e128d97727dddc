import type { AwardRecord } from '../../../services/notes/award-emoji.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { FormTag } from '../form.js'
import { characterOf, OFFERED } from './awards.js'

interface Props {
  view: PageView
  awards: AwardRecord[]
  /** Where a reaction is given or taken back, for those who may. */
  toggleAt: string | null
}

/** Reactions with their numbers; those who may react press them. */
export function Reactions({ view, awards, toggleAt }: Props) {
  const byName = new Map<string, AwardRecord[]>()
  for (const record of awards) byName.set(record.award.name, [...(byName.get(record.award.name) ?? []), record])
  const others = OFFERED.filter((name) => !byName.has(name))
  if (byName.size === 0 && !toggleAt) return null
  const buttons = (names: string[]) =>
    names.map((name) => {
      const given = byName.get(name) ?? []
      const text = `${characterOf(name)}${given.length > 0 ? ` ${given.length}` : ''}`
      const who = given
        .map(({ user }) => user.name)
        .slice(0, 20)
        .join(', ')
      const isMine = given.some(({ user }) => user.id === view.viewer?.id)
      return toggleAt ? (
        <button
          key={name}
          type="submit"
          name="name"
          value={name}
          title={who || name}
          aria-label={`${name} ${given.length || ''}`}
          aria-pressed={isMine}
        >
          {text}
        </button>
      ) : (
        <span key={name} class="badge" title={who}>
          {text}
        </span>
      )
    })
  if (!toggleAt) return <p class="reactions">{buttons([...byName.keys()])}</p>
  return (
    <FormTag view={view} action={toggleAt} class="reactions">
      {buttons([...byName.keys()])}
      <details class="menu">
        <summary aria-label={t('Add a reaction')} class="button">
          ☺
        </summary>
        <div class="items">{buttons(others)}</div>
      </details>
    </FormTag>
  )
}
