import { z } from 'zod'
import type { ProjectSubject } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { list, orDefault, str, where } from '../../../../http/params.js'
import { type JobAction, possibleActions } from '../../../../services/ci/builds/actions.js'
import type { JobRecord } from '../../../../services/ci/jobs.js'
import { spanText } from '../../../components/ci/span.js'
import { ActionButton, Field } from '../../../components/form.js'
import type { Fields } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { homeOfProject } from '../../../links.js'
import type { PageView } from '../../../page.js'

/** The address of a page of the CI of a project, without the prefix of the service. */
export const ciAddress = (subject: Pick<ProjectSubject, 'project'>, page: string) => `${homeOfProject(subject)}/-/${page}`

/** How long something took, in words; empty while it goes on. */
export const durationText = (from: Date | null, to: Date | null) =>
  from && to ? spanText(Math.max(0, Math.round((to.getTime() - from.getTime()) / 1000))) : ''

const labels = (): Record<JobAction, string> => ({ play: t('Start'), cancel: t('Cancel'), retry: t('Retry'), erase: t('Erase log and artifacts') })

interface ActionsProps {
  view: PageView
  subject: ProjectSubject
  job: JobRecord
  /** Whether the reader may run jobs of its branch or tag (CI-228), and deploy to its environment (PE-3). */
  mayRun: boolean
  /** Leads back to the pipeline, whose page has the button. */
  inPipeline?: boolean
}

/** What the reader may do with a job now. */
export function JobActions({ view, subject, job, mayRun, inPipeline = false }: ActionsProps) {
  if (!mayRun || !subject.can('update_build')) return null
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
            label={labels()[action]}
            what={name}
            class={action === 'erase' ? 'danger' : ''}
            fields={inPipeline ? { back: 'pipeline' } : {}}
          />
        ))}
    </>
  )
}

/** Variables that a form takes at once. */
const ROWS = 5

export const variableValue = where(str(), (text) => text.length <= 65_536, 'is too long', { maxLength: 65_536 })

/** The lines of a form for variables; those without a key are left out. */
export const variableLines = orDefault(list(z.object({ key: orDefault(documented.short(), ''), value: orDefault(variableValue, '') }), ROWS), [])
type Line = z.output<typeof variableLines>[number]

export const VariableLines = ({ fields, hint }: { fields: (place: number) => Fields<Line>; hint: string }) => (
  <fieldset>
    <legend>{t('Variables')}</legend>
    <p class="hint">{hint}</p>
    {Array.from({ length: ROWS }, (_, i) => (
      <div class="key-value" key={i}>
        <Field {...fields(i).key} label={t('Key {i}', { i: i + 1 })} autocomplete="off" />
        <Field {...fields(i).value} label={t('Value {i}', { i: i + 1 })} autocomplete="off" />
      </div>
    ))}
  </fieldset>
)
