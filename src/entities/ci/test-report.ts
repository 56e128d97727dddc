import { z } from 'zod'
import { countTests, TEST_STATES } from '../../rules/ci/reports/junit.js'
import type { TestSuite } from '../../services/ci/reports/tests.js'

const TestCase = z.strictObject({
  status: z.enum(TEST_STATES),
  name: z.string(),
  classname: z.string(),
  file: z.string().nullable(),
  execution_time: z.number(),
  system_output: z.string().nullable(),
  stack_trace: z.null(),
})

const counts = {
  total_time: z.number(),
  total_count: z.int(),
  success_count: z.int(),
  failed_count: z.int(),
  skipped_count: z.int(),
  error_count: z.int(),
}

export const TestReport = z
  .strictObject({
    ...counts,
    test_suites: z.array(z.strictObject({ name: z.string(), ...counts, suite_error: z.string().nullable(), test_cases: z.array(TestCase) })),
  })
  .meta({ id: 'TestReport', description: 'The tests of a pipeline, by job.' })

export const TestReportSummary = z
  .strictObject({
    total: z.strictObject({
      time: z.number(),
      count: z.int(),
      success: z.int(),
      failed: z.int(),
      skipped: z.int(),
      error: z.int(),
      suite_error: z.string().nullable(),
    }),
    test_suites: z.array(z.strictObject({ name: z.string(), ...counts, build_ids: z.array(z.int()), suite_error: z.string().nullable() })),
  })
  .meta({ id: 'TestReportSummary', description: 'How many tests of a pipeline there are, by job.' })

const allOf = (suites: readonly TestSuite[]) => countTests(suites.flatMap(({ cases }) => cases))

function presentCounts({ time, count, success, failed, skipped, error }: ReturnType<typeof countTests>) {
  return { total_time: time, total_count: count, success_count: success, failed_count: failed, skipped_count: skipped, error_count: error }
}

export const presentTestReport = (suites: readonly TestSuite[]): z.infer<typeof TestReport> =>
  Object.assign(presentCounts(allOf(suites)), {
    test_suites: suites.map(({ name, cases, error }) =>
      Object.assign({ name }, presentCounts(countTests(cases)), {
        suite_error: error && `JUnit report: ${error}`,
        test_cases: cases.map((one) => Object.assign({ stack_trace: null }, one)),
      }),
    ),
  })

export function presentTestReportSummary(suites: readonly TestSuite[]): z.infer<typeof TestReportSummary> {
  const { time, count, success, failed, skipped, error } = allOf(suites)
  return {
    total: { time, count, success, failed, skipped, error, suite_error: suites.find((suite) => suite.error !== null)?.error ?? null },
    test_suites: suites.map((suite) =>
      Object.assign({ name: suite.name }, presentCounts(countTests(suite.cases)), { build_ids: [suite.job], suite_error: suite.error }),
    ),
  }
}
