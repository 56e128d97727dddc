import type { Context } from '../../src/context.js'
import { createRunner, type RunnerAttributes, type RunnerScope } from '../../src/services/ci/runners/runners.js'

/** What a runner gets of a job. */
export interface GivenJob {
  id: number
  token: string
  job_info: { name: string; stage: string }
  git_info: { repo_url: string; sha: string; refspecs: string[] }
  variables: { key: string; value: string; public: boolean; masked: boolean }[]
  steps: { name: string; script: string[] }[]
  dependencies: { id: number; token: string; name: string }[]
  [more: string]: unknown
}

/** A runner that does what a test says, as GitLab Runner speaks. */
export class ScriptedRunner {
  private constructor(
    private readonly url: string,
    readonly token: string,
    readonly id: number,
  ) {}

  static async make(ctx: Context, url: string, scope: Partial<RunnerScope> = {}, attributes: RunnerAttributes = {}): Promise<ScriptedRunner> {
    const all = { kind: 'instance_type' as const, group_id: null, project_id: null, ...scope }
    const { runner, token } = await createRunner(ctx, all, attributes, { creator: null, registered: true })
    return new ScriptedRunner(url, token, runner.id)
  }

  private call(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}/api/v4${path}`, { method, ...init })
  }

  private json(method: string, path: string, body: object): Promise<Response> {
    return this.call(method, path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  /** The answer to the question for a job. */
  ask(): Promise<Response> {
    return this.json('POST', '/jobs/request', { token: this.token, info: { name: 'scripted', version: '15.3.0', features: {} } })
  }

  /** The next job; null if none waits. */
  async take(): Promise<GivenJob | null> {
    const answer = await this.ask()
    if (answer.status === 204) return null
    if (answer.status !== 201) throw new Error(`no job: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as GivenJob
  }

  /** Takes the next job, which must have this name. */
  async takeNamed(name: string): Promise<GivenJob> {
    const job = await this.take()
    if (job?.job_info.name !== name) throw new Error(`the next job is ${job?.job_info.name}, not ${name}`)
    return job
  }

  trace(job: Pick<GivenJob, 'id' | 'token'>, first: number, text: string | Buffer): Promise<Response> {
    const body = Buffer.from(text)
    return this.call('PATCH', `/jobs/${job.id}/trace`, {
      headers: { 'content-type': 'text/plain', 'job-token': job.token, 'content-range': `${first}-${first + body.length - 1}` },
      body,
    })
  }

  end(job: Pick<GivenJob, 'id' | 'token'>, state: string, more: object = {}): Promise<Response> {
    return this.json('PUT', `/jobs/${job.id}`, { token: job.token, state, ...more })
  }

  upload(job: Pick<GivenJob, 'id' | 'token'>, bytes: Buffer, query = ''): Promise<Response> {
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(bytes)]), 'artifacts.zip')
    return this.call('POST', `/jobs/${job.id}/artifacts${query}`, { headers: { 'job-token': job.token }, body: form })
  }

  download(job: number, token: string): Promise<Response> {
    return this.call('GET', `/jobs/${job}/artifacts?direct_download=true`, { headers: { 'job-token': token } })
  }
}
