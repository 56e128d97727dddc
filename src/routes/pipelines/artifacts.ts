import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Job, presentJob } from '../../entities/ci/job.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { filledIn, gitPath, rowId } from '../../http/params.js'
import { type Artifact, archiveOf, contentOf, deleteArtifacts, entryOf, keepArtifacts, latestArchive } from '../../services/ci/artifacts/read.js'
import { getJob } from '../../services/ci/jobs.js'

const read = onProjectSignedIn('read_pipeline')
const job_id = rowId()
const artifact_path = gitPath()
/** Whatever the file is: a browser neither runs nor shows it. */
const AS_FILE = { 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' }

const archive = async (ctx: Context, found: Artifact) =>
  new Answer(200, await contentOf(ctx, found), {
    'content-type': 'application/zip',
    'content-length': String(found.size),
    'content-disposition': `attachment; filename="${found.filename.replace(/[^\w.-]/g, '_')}"`,
  })

async function oneFile(ctx: Context, found: Artifact, path: string) {
  const { stream, size } = await entryOf(ctx, found, path)
  return new Answer(200, stream, { ...AS_FILE, 'content-length': String(size) })
}

const ofRef = (ctx: Context, subject: ProjectSubject, { ref_name, job }: { ref_name: string; job: string }) =>
  latestArchive(ctx, subject, ref_name, job)

/** The files that jobs have made (CI-132 to CI-134). */
export const artifacts = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/:job_id/artifacts',
    summary: 'Download the artifacts of a job',
    access: read,
    jobToken: true,
    input: z.object({ job_id }),
    raw: ['application/zip'],
    handler: async ({ ctx, subject, input }) => archive(ctx, await archiveOf(ctx, subject, input.job_id)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/:job_id/artifacts/:artifact_path',
    summary: 'Download a file of the artifacts of a job',
    access: read,
    jobToken: true,
    input: z.object({ job_id, artifact_path }),
    raw: ['application/octet-stream'],
    handler: async ({ ctx, subject, input }) => oneFile(ctx, await archiveOf(ctx, subject, input.job_id), input.artifact_path),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/artifacts/:ref_name/download',
    summary: 'Download the newest artifacts of a branch or tag',
    description: 'Of the job with this name, in the newest pipeline that succeeded.',
    access: read,
    jobToken: true,
    input: z.object({ ref_name: filledIn(), job: filledIn() }),
    raw: ['application/zip'],
    handler: async ({ ctx, subject, input }) => archive(ctx, await ofRef(ctx, subject, input)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/artifacts/:ref_name/raw/:artifact_path',
    summary: 'Download a file of the newest artifacts of a branch or tag',
    access: read,
    jobToken: true,
    input: z.object({ ref_name: filledIn(), job: filledIn(), artifact_path }),
    raw: ['application/octet-stream'],
    handler: async ({ ctx, subject, input }) => oneFile(ctx, await ofRef(ctx, subject, input), input.artifact_path),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/jobs/:job_id/artifacts/keep',
    summary: 'Keep the artifacts of a job',
    access: onProjectSignedIn('update_build'),
    input: z.object({ job_id }),
    output: Job,
    status: 200,
    async handler({ ctx, subject, input, view }) {
      await keepArtifacts(ctx, subject, input.job_id)
      return presentJob(await getJob(ctx, subject, input.job_id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/jobs/:job_id/artifacts',
    summary: 'Delete the artifacts of a job',
    access: onProjectSignedIn('manage_runners'),
    input: z.object({ job_id }),
    handler: ({ ctx, subject, input }) => deleteArtifacts(ctx, subject, input.job_id),
  }),
]
