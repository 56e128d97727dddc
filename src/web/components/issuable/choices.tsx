import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import { findUserIds } from '../../../services/identity/users.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { MAX_PEOPLE, tooManyPeople } from '../../../services/issuables/readers.js'
import { listProjectUsers } from '../../../services/projects/people.js'
import { plural } from '../../language/language.js'

/**
 * The ids of the users whose names a text has, with spaces or commas between them; `[0]`, nobody, for an empty one.
 * `field` has the fault of a name that no user has.
 */
export async function peopleOf(ctx: Context, text: string, field: string): Promise<number[]> {
  const names = text
    .split(/[\s,]/)
    .map((name) => name.replace(/^@/, ''))
    .filter((name) => name !== '')
  if (names.length === 0) return [0]
  if (names.length > MAX_PEOPLE) throw invalidRecord({ [field]: [tooManyPeople] })
  const ids = await findUserIds(ctx, names)
  const unknown = names.find((_, i) => ids[i] === null)
  if (unknown !== undefined)
    throw invalidRecord({
      [field]: [plural(names.length, 'is not the name of a user', 'has {unknown}, which is not the name of a user', { unknown })],
    })
  return ids.filter((id) => id !== null)
}

/** The names of users as such a text has them. */
export const namesOf = (people: readonly { username: string }[]): string => people.map(({ username }) => username).join(' ')

/** What an issue or merge request of a project can be given; the first hundred members. */
export async function choicesFor(ctx: Context, subject: ProjectSubject) {
  const [labels, milestones, { items: members }] = await Promise.all([
    labelChoices(ctx, { project: subject }),
    milestoneChoices(ctx, { project: subject }),
    listProjectUsers(ctx, subject.project.id, { page: 1, per_page: MAX_CHOICES }),
  ])
  return { labels, milestones, members }
}

export type Choices = Awaited<ReturnType<typeof choicesFor>>

/** The members of a project, as suggestions of fields with the list `people`. */
export const Suggestions = ({ members }: Pick<Choices, 'members'>) => (
  <datalist id="people">
    {members.map(({ username, name }) => (
      <option key={username} value={username} label={name} />
    ))}
  </datalist>
)
