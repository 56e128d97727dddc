import { basename } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Context } from '../context.js'
import { Failure, invalidInput, STATUS } from '../failures.js'
import { MINIMUM_RATE, watchRate } from '../lib/async/minimum-rate.js'
import { numericId } from '../lib/numeric-id.js'
import { archiveForBuild, contentOf } from '../services/ci/artifacts/read.js'
import { storeArtifact } from '../services/ci/artifacts/store.js'
import { runningBuild } from '../services/ci/builds/running.js'
import { appendTrace } from '../services/ci/builds/trace.js'

const config = { policy: 'the token of a job that runs' }
/** Bytes of a piece of a log; runners send at most 1 MiB. */
const MAX_PIECE = 4 * 1_048_576
/** Seconds after which a runner sends its next piece. */
const TRACE_INTERVAL_S = 3

const credentialOf = ({ headers, query }: FastifyRequest): string => {
  const given = headers['job-token'] ?? (query as Record<string, unknown>)['token']
  return typeof given === 'string' ? given : ''
}

const idOf = ({ params }: FastifyRequest): number => numericId((params as { id: string }).id) ?? 0

/** What runners send and fetch as streams: the logs and files of their jobs (CI-114, CI-130). */
export async function runnerStreams(app: FastifyInstance, { ctx }: { ctx: Context }) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof Failure)) throw error
    return reply.code(STATUS[error.kind]).headers(error.headers).send(error.body)
  })
  app.patch('/jobs/:id/trace', { config }, (request, reply) => receiveTrace(ctx, request, reply))
  app.post('/jobs/:id/artifacts', { config }, (request, reply) => receiveArtifact(ctx, request, reply))
  app.get('/jobs/:id/artifacts', { config, exposeHeadRoute: false }, (request, reply) => sendArtifact(ctx, request, reply))
}

async function receiveTrace(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const build = await runningBuild(ctx, idOf(request), credentialOf(request))
  // the end is inclusive in the original's runner and exclusive in others: the length of the body counts
  const first = numericId(/^(\d+)-/.exec(String(request.headers['content-range'] ?? ''))?.[1] ?? '')
  if (first === null) throw invalidInput('Content-Range is missing')
  const bytes = await readAll(request)
  const size = await appendTrace(ctx, build, first, bytes)
  return reply
    .code(202)
    .headers({ range: `0-${size}`, 'job-status': build.state, 'x-gitlab-trace-update-interval': String(TRACE_INTERVAL_S) })
    .send()
}

/** What a file may be called, and of which type and format it may be. */
const Described = z.object({
  artifact_type: z
    .string()
    .regex(/^[a-z_]{1,64}$/)
    .default('archive'),
  artifact_format: z.enum(['zip', 'gzip', 'raw']).default('zip'),
  expire_in: z.string().max(255).optional(),
})

async function receiveArtifact(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const build = await runningBuild(ctx, idOf(request), credentialOf(request))
  const described = Described.safeParse(request.query)
  if (!described.success) throw invalidInput('artifact_type or artifact_format is not valid')
  const { artifact_type: file_type, artifact_format: file_format, expire_in } = described.data
  const part = request.isMultipart() ? await request.file({ limits: { files: 1, fileSize: Number.POSITIVE_INFINITY } }) : undefined
  if (!part) throw invalidInput('file is missing')
  const stop = watchRate(request.raw, MINIMUM_RATE, () => request.raw.destroy())
  try {
    await storeArtifact(
      ctx,
      build,
      { file_type, file_format, filename: basename(part.filename || 'artifacts.zip').slice(0, 255), expire_in },
      part.file,
    )
  } finally {
    stop()
    part.file.resume()
  }
  return reply.code(201).send({ id: build.job })
}

/** The archive of a job, for another job of its project that runs. */
async function sendArtifact(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const archive = await archiveForBuild(ctx, idOf(request), credentialOf(request))
  if (!archive) throw new Failure('not_found', { message: '404 Not found' })
  return reply
    .headers({
      'content-type': 'application/zip',
      'content-length': String(archive.size),
      'content-disposition': 'attachment; filename="artifacts.zip"',
    })
    .send(await contentOf(ctx, archive))
}

async function readAll({ raw }: FastifyRequest): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const stop = watchRate(raw, MINIMUM_RATE, () => raw.destroy())
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_PIECE) throw new Failure('too_large', { message: '413 Request Entity Too Large' })
      chunks.push(chunk)
    }
  } finally {
    stop()
  }
  return Buffer.concat(chunks)
}
