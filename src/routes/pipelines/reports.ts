import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { presentTestReport, presentTestReportSummary, TestReport, TestReportSummary } from '../../entities/ci/test-report.js'
import { endpoint } from '../../http/endpoint.js'
import { rowId } from '../../http/params.js'
import { testsOf } from '../../services/ci/reports/tests.js'

const read = onProjectSignedIn('read_pipeline')
const input = z.object({ pipeline_id: rowId() })

/** What the tests of a pipeline say (CI-251). */
export const reports = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/test_report',
    summary: 'Get the tests of a pipeline',
    access: read,
    input,
    output: TestReport,
    handler: async ({ ctx, subject, input: { pipeline_id } }) => presentTestReport(await testsOf(ctx, subject, pipeline_id)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/test_report_summary',
    summary: 'Count the tests of a pipeline',
    access: read,
    input,
    output: TestReportSummary,
    handler: async ({ ctx, subject, input: { pipeline_id } }) => presentTestReportSummary(await testsOf(ctx, subject, pipeline_id)),
  }),
]
