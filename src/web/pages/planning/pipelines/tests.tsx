import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import { rowId } from '../../../../http/params.js'
import { countTests, type TestCase, type TestState } from '../../../../rules/ci/reports/junit.js'
import { getPipeline } from '../../../../services/ci/pipelines.js'
import { type TestSuite, testsOf } from '../../../../services/ci/reports/tests.js'
import { Badge, Row, Rows } from '../../../components/list.js'
import { t, text } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { page } from '../../../page.js'
import { ciAddress } from './shared.js'

/** Tests that the page shows of one job: those that failed come first. */
const SHOWN_CASES = 500
const ORDER: readonly TestState[] = ['failed', 'error', 'skipped', 'success']
const KINDS = { failed: 'danger', error: 'danger', skipped: 'waiting', success: 'success' } as const
const WORDS = { failed: text('failed'), error: text('error'), skipped: text('skipped'), success: text('passed') } as const satisfies Record<
  TestState,
  string
>

const seconds = (time: number) => `${Math.round(time * 100) / 100} s`

const Case = ({ test }: { test: TestCase }) => (
  <Row actions={<Badge kind={KINDS[test.status]}>{t(WORDS[test.status])}</Badge>}>
    <span class="wrap">
      <strong>{test.name}</strong> <span class="dim">{[test.classname, test.file].filter(Boolean).join(' · ')}</span>{' '}
      <span class="dim">{seconds(test.execution_time)}</span>
    </span>
    {test.system_output && (
      <details>
        <summary>{t('Output')}</summary>
        <pre class="code">{test.system_output}</pre>
      </details>
    )}
  </Row>
)

function Suite({ suite }: { suite: TestSuite }) {
  const cases = [...suite.cases].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
  const counts = countTests(cases)
  return (
    <section aria-label={suite.name}>
      <h2>{suite.name}</h2>
      {suite.error !== null && (
        <p class="flash alert">
          <Phrase text="Its report cannot be read: {error}" error={suite.error} />
        </p>
      )}
      <p class="dim">
        <Phrase
          text="{count} tests in {seconds}: {success} passed, {failed} failed, {skipped} skipped"
          count={counts.count}
          seconds={seconds(counts.time)}
          success={counts.success}
          failed={counts.failed + counts.error}
          skipped={counts.skipped}
        />
      </p>
      <Rows empty={t('There are no tests.')}>
        {cases.slice(0, SHOWN_CASES).map((test) => (
          <Case key={`${test.classname} ${test.name} ${test.file}`} test={test} />
        ))}
      </Rows>
      {cases.length > SHOWN_CASES && (
        <p class="note">
          <Phrase text="{count} more tests are not shown here." count={cases.length - SHOWN_CASES} />
        </p>
      )}
    </section>
  )
}

/** The tests of a pipeline, by job (CI-251). */
export const testsPage = page({
  at: 'P/-/pipelines/:pipeline_id/test_report',
  access: onProjectSignedIn('read_pipeline'),
  input: z.object({ pipeline_id: rowId() }),
  async show({ ctx, subject, input, view }) {
    const [pipeline, suites] = await Promise.all([getPipeline(ctx, subject, input.pipeline_id), testsOf(ctx, subject, input.pipeline_id)])
    return {
      title: `${t('Tests of pipeline #{id}', { id: pipeline.id })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>
            <Phrase
              text="Tests of {link}"
              link={
                <a href={view.links.prefix + ciAddress(subject, `pipelines/${pipeline.id}`)}>
                  <Phrase text="pipeline #{id}" id={pipeline.id} />
                </a>
              }
            />
          </h1>
          {suites.length === 0 && <p class="empty">{t('No job of this pipeline has sent a JUnit report.')}</p>}
          {suites.map((suite) => (
            <Suite key={suite.job} suite={suite} />
          ))}
        </ProjectLayout>
      ),
    }
  },
})
