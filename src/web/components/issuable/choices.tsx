import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import { findUserByName } from '../../../services/identity/users.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { listProjectUsers } from '../../../services/projects/people.js'

/** The id of the user with this name, as a list; none for an empty name. `field` has the fault of a name that no user has. */
export async function assigneeOf(ctx: Context, username: string, field = 'assignee_username'): Promise<number[]> {
  const name = username.trim().replace(/^@/, '')
  if (name === '') return [0]
  const user = await findUserByName(ctx, name)
  if (!user) throw invalidRecord({ [field]: ['is not the name of a user'] })
  return [user.id]
}

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
