import { invalidRecord } from '../../failures.js'
import { MAX_DESCRIPTION } from '../../rules/descriptions.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { labelListFaults } from './labels.js'
import { MAX_PEOPLE, tooManyPeople } from './readers.js'

/** Maximum lengths of title and description, in characters (SEC-63). */
const MAX_TITLE = 255

interface Texts {
  title?: string | undefined
  description?: string | null | undefined
  labels?: (string[] | undefined)[]
  assignee_ids?: readonly number[] | undefined
  reviewer_ids?: readonly number[] | undefined
}

/** Validation errors of the texts of an issue or merge request, and of too many people (MR-620); the title is checked after trimming. */
export function textFaults({ title, description, labels = [], assignee_ids = [], reviewer_ids = [] }: Texts): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  const trimmed = title?.trim()
  if (trimmed === '') faults['title'] = ["can't be blank"]
  if (trimmed && lengthOf(trimmed) > MAX_TITLE) faults['title'] = [tooLong(MAX_TITLE)]
  if (description && lengthOf(description) > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  const inLabels = labels.flatMap((list) => labelListFaults(list ?? []))
  if (inLabels.length > 0) faults['labels'] = [...new Set(inLabels)]
  if (new Set(assignee_ids).size > MAX_PEOPLE) faults['assignees'] = [tooManyPeople]
  if (new Set(reviewer_ids).size > MAX_PEOPLE) faults['reviewers'] = [tooManyPeople]
  return faults
}

export function refuseFaults(faults: Record<string, string[]>): void {
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** Validates the texts and returns them as they are stored. */
export function checkTexts(given: Texts) {
  refuseFaults(textFaults(given))
  return { title: given.title?.trim(), description: given.description === undefined ? undefined : (given.description ?? '') }
}
