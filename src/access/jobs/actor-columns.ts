import { users } from '../../db/schema/index.js'

/** What access checks need of a user. */
export const actorColumns = {
  id: users.id,
  username: users.username,
  name: users.name,
  email: users.email,
  kind: users.kind,
  admin: users.admin,
  external: users.external,
  can_create_group: users.can_create_group,
  projects_limit: users.projects_limit,
}
