import type { ProjectSubject } from '../../../../access/rules.js'
import { type JobAction, possibleActions } from '../../../../services/ci/builds/actions.js'
import type { JobRecord } from '../../../../services/ci/jobs.js'
import { spanText } from '../../../components/ci/span.js'
import { ActionButton } from '../../../components/form.js'
import { homeOfProject } from '../../../links.js'
import type { PageView } from '../../../page.js'

/** The address of a page of the CI of a project, without the prefix of the service. */
export const ciAddress = (subject: Pick<ProjectSubject, 'project'>, page: string) => `${homeOfProject(subject)}/-/${page}`

/** How long something took, in words; empty while it goes on. */
export const durationText = (from: Date | null, to: Date | null) =>
  from && to ? spanText(Math.max(0, Math.round((to.getTime() - from.getTime()) / 1000))) : ''

const LABELS: Record<JobAction, string> = { play: 'Start', cancel: 'Cancel', retry: 'Retry', erase: 'Erase log and artifacts' }

interface ActionsProps {
  view: PageView
  subject: ProjectSubject
  job: JobRecord
  /** Leads back to the pipeline, whose page has the button. */
  inPipeline?: boolean
}

/** What the reader may do with a job now. */
export function JobActions({ view, subject, job, inPipeline = false }: ActionsProps) {
  if (!subject.can('update_build')) return null
  const { id, name } = job.status
  return (
    <>
      {possibleActions(job)
        .filter((action) => action !== 'erase' || !inPipeline)
        .map((action) => (
          <ActionButton
            key={action}
            view={view}
            action={ciAddress(subject, `jobs/${id}/${action}`)}
            label={LABELS[action]}
            what={name}
            class={action === 'erase' ? 'danger' : ''}
            fields={inPipeline ? { back: 'pipeline' } : {}}
          />
        ))}
    </>
  )
}
