import type { ObjectType } from '../object-type.js'
import { codeTypes } from './code.js'
import { groupTypes } from './groups.js'
import { issueTypes } from './issues.js'
import { labelTypes } from './labels.js'
import { memberTypes } from './members.js'
import { mergeRequestTypes } from './merge-requests.js'
import { noteTypes } from './notes.js'
import { pipelineTypes } from './pipelines.js'
import { projectTypes } from './projects.js'
import { queryTypes } from './query.js'
import { userTypes } from './users.js'

/** How the types of the schema get their values; those that are missing are plain objects with the names of the schema. */
export const TYPES: Record<string, ObjectType<never>> = {
  ...queryTypes,
  ...userTypes,
  ...memberTypes,
  ...groupTypes,
  ...projectTypes,
  ...labelTypes,
  ...mergeRequestTypes,
  ...issueTypes,
  ...noteTypes,
  ...pipelineTypes,
  ...codeTypes,
}
