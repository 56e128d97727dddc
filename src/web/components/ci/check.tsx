import type { LintJob, LintRecord } from '../../../services/ci/lint.js'
import { plural, said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { Badge, Row, Rows } from '../list.js'

/** The most jobs that are listed. */
const MAX_JOBS = 500

const JobRow = ({ job }: { job: LintJob }) => {
  const needs = (job.needs ?? []).map((need) => need.job)
  return (
    <Row>
      <span class="wrap">
        <strong>{job.name}</strong> {job.when !== 'on_success' && <Badge kind="outline">{said(job.when.replaceAll('_', ' '))}</Badge>}{' '}
        {job.allow_failure && <Badge kind="outline">{t('may fail')}</Badge>}{' '}
        {job.tags.map((tag) => (
          <Badge key={tag}>{tag}</Badge>
        ))}
      </span>
      <span class="dim">
        {job.stage}
        {needs.length > 0 && ` · ${t('needs {needs}', { needs: needs.join(', ') })}`}
      </span>
    </Row>
  )
}

/** What a CI configuration means: its faults, or the jobs that it makes (WB-750). */
export function ConfigurationCheck({ record: { errors, warnings, jobs = [] } }: { record: LintRecord }) {
  return (
    <>
      <div class="head">
        {errors.length > 0 ? <Badge kind="danger">{t('invalid')}</Badge> : <Badge kind="success">{t('valid')}</Badge>}{' '}
        {errors.length === 0 && <span>{plural(jobs.length, '1 job', '{count} jobs')}</span>}
      </div>
      {[...errors, ...warnings].length > 0 && (
        <ul class="note faults">
          {errors.map((text) => (
            <li key={text}>{text}</li>
          ))}
          {warnings.map((text) => (
            <li key={text}>
              <Phrase text="Warning: {warning}" warning={text} />
            </li>
          ))}
        </ul>
      )}
      {errors.length === 0 && (
        <Rows empty={t('It makes no jobs.')}>
          {jobs.slice(0, MAX_JOBS).map((job) => (
            <JobRow key={job.name} job={job} />
          ))}
        </Rows>
      )}
    </>
  )
}
