import type { Endpoint } from '../http/endpoint.js'
import { branches } from './branches/branches.js'
import { protection } from './branches/protection.js'
import { commitComments } from './commits/comments.js'
import { commits } from './commits/commits.js'
import { events } from './events/index.js'
import { files } from './files/index.js'
import { groups } from './groups/index.js'
import { instance } from './instance/index.js'
import { members } from './members/index.js'
import { namespaces } from './namespaces/index.js'
import { projects } from './projects/index.js'
import { releases } from './releases/index.js'
import { repository } from './repository/index.js'
import { tags } from './tags/index.js'
import { tokens } from './tokens/index.js'
import { currentUser } from './users/current-user.js'
import { users } from './users/users.js'

/** Every endpoint of the API, family by family. */
export const families: Endpoint[][] = [
  instance,
  currentUser,
  users,
  tokens,
  groups,
  namespaces,
  projects,
  members,
  branches,
  protection,
  tags,
  releases,
  repository,
  files,
  commits,
  commitComments,
  events,
]
