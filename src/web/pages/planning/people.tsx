import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import { findUserByName } from '../../../services/identity/users.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { listProjectUsers } from '../../../services/projects/people.js'

/** The id of the user with this name, as a list; none for an empty name. */
export async function assigneeOf(ctx: Context, username: string): Promise<number[]> {
  const name = username.trim().replace(/^@/, '')
  if (name === '') return [0]
  const user = await findUserByName(ctx, name)
  if (!user) throw invalidRecord({ assignee_username: ['is not the name of a user'] })
  return [user.id]
}

/** The members of a project, as suggestions. */
export async function membersOf(ctx: Context, { project }: ProjectSubject) {
  const { items } = await listProjectUsers(ctx, project.id, { page: 1, per_page: MAX_CHOICES })
  return items
}

export const Suggestions = ({ id, values }: { id: string; values: { value: string; label?: string }[] }) => (
  <datalist id={id}>
    {values.map(({ value, label }) => (
      <option key={value} value={value} label={label} />
    ))}
  </datalist>
)
