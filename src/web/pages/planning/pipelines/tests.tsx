import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import { rowId } from '../../../../http/params.js'
import { countTests, type TestCase, type TestState } from '../../../../rules/ci/reports/junit.js'
import { getPipeline } from '../../../../services/ci/pipelines.js'
import { type TestSuite, testsOf } from '../../../../services/ci/reports/tests.js'
import { Badge, Row, Rows } from '../../../components/list.js'
import { ProjectLayout } from '../../../layout/project.js'
import { page } from '../../../page.js'
import { ciAddress } from './shared.js'

/** Tests that the page shows of one job: those that failed come first. */
const SHOWN_CASES = 500
const ORDER: readonly TestState[] = ['failed', 'error', 'skipped', 'success']
const KINDS = { failed: 'danger', error: 'danger', skipped: 'waiting', success: 'success' } as const
const WORDS: Record<TestState, string> = { failed: 'failed', error: 'error', skipped: 'skipped', success: 'passed' }

const seconds = (time: number) => `${Math.round(time * 100) / 100} s`

const Case = ({ test }: { test: TestCase }) => (
  <Row actions={<Badge kind={KINDS[test.status]}>{WORDS[test.status]}</Badge>}>
    <span class="wrap">
      <strong>{test.name}</strong> <span class="dim">{[test.classname, test.file].filter(Boolean).join(' · ')}</span>{' '}
      <span class="dim">{seconds(test.execution_time)}</span>
    </span>
    {test.system_output && (
      <details>
        <summary>Output</summary>
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
      {suite.error !== null && <p class="flash alert">Its report cannot be read: {suite.error}</p>}
      <p class="dim">
        {counts.count} tests in {seconds(counts.time)}: {counts.success} passed, {counts.failed + counts.error} failed, {counts.skipped} skipped
      </p>
      <Rows empty="There are no tests.">
        {cases.slice(0, SHOWN_CASES).map((test) => (
          <Case key={`${test.classname} ${test.name} ${test.file}`} test={test} />
        ))}
      </Rows>
      {cases.length > SHOWN_CASES && <p class="note">{cases.length - SHOWN_CASES} more tests are not shown here.</p>}
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
      title: `Tests of pipeline #${pipeline.id} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>
            Tests of <a href={view.links.prefix + ciAddress(subject, `pipelines/${pipeline.id}`)}>pipeline #{pipeline.id}</a>
          </h1>
          {suites.length === 0 && <p class="empty">No job of this pipeline has sent a JUnit report.</p>}
          {suites.map((suite) => (
            <Suite key={suite.job} suite={suite} />
          ))}
        </ProjectLayout>
      ),
    }
  },
})
