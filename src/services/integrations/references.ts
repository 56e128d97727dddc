import type { ProjectSubject } from '../../access/rules.js'
import type { Reference } from '../../rules/references.js'

type Project = Pick<ProjectSubject['project'], 'external_services' | 'issues_access_level'>

export interface ExternalIssue {
  key: string
  url: string
  /** The title of the tracker. */
  tracker: string
}

/**
 * The issue of the project's tracker elsewhere that a reference names: `PROJ-12`, and `#12` where the project has no
 * issues of its own and the tracker numbers them (SV-20).
 */
export function externalIssueOf({ external_services, issues_access_level }: Project, reference: Reference): ExternalIssue | null {
  const tracker = external_services?.tracker
  if (!tracker) return null
  const isNumber = reference.kind === 'issue' && reference.project === null && tracker.keys === 'any' && issues_access_level === 0
  if (reference.kind !== 'external' && !isNumber) return null
  const id = reference.kind === 'external' ? reference.name : String(reference.number)
  return { key: isNumber ? `#${id}` : id, url: tracker.issues_url.replaceAll(':id', id), tracker: tracker.title }
}
