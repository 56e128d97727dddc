import { z } from 'zod'
import { onProject, onProjectSignedIn, signedIn } from '../../access/rules.js'
import { CiLint, ProjectCiLint, presentCiLint, presentProjectCiLint } from '../../entities/ci/lint.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, opt, str } from '../../http/params.js'
import { lintForProject, lintOfProject, lintText } from '../../services/ci/lint.js'

const content = str()
const dryRun = { dry_run: opt(bool()), ref: opt(str()), include_jobs: opt(bool()) }

/** Checks of `.gitlab-ci.yml` (CI-61, CI-62). */
export const lint = [
  endpoint({
    method: 'POST',
    path: '/ci/lint',
    summary: 'Check a CI configuration',
    access: signedIn,
    input: z.object({ content, include_merged_yaml: opt(bool()) }),
    output: CiLint,
    status: 200,
    async handler({ ctx, caller, input }) {
      return presentCiLint(await lintText(ctx, caller, input.content), { withYaml: input.include_merged_yaml === true })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/ci/lint',
    summary: 'Check the CI configuration of a project',
    access: onProject('download_code'),
    input: z.object({ sha: opt(str()), ...dryRun }),
    output: ProjectCiLint,
    async handler({ ctx, caller, subject, input }) {
      return presentProjectCiLint(await lintOfProject(ctx, caller, subject, input))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/ci/lint',
    summary: 'Check a CI configuration for a project',
    access: onProjectSignedIn('create_pipeline'),
    input: z.object({ content, ...dryRun }),
    output: ProjectCiLint,
    status: 200,
    async handler({ ctx, caller, subject, input }) {
      return presentProjectCiLint(await lintForProject(ctx, caller, subject, input))
    },
  }),
]
