import type { TestApp } from './app.js'
import { aProject, type Credentialed, type TestProject } from './factories.js'
import { ScriptedRunner } from './runner.js'

/** Projects with pipelines, as tests of CI use them. */
export function ciOf(t: TestApp) {
  const get = async (project: TestProject, path: string) => (await t.api('get', `${project.path}${path}`, project.creator).expect(200)).body
  return {
    get,

    addMember: async (project: TestProject, user: Credentialed & { id: number }, access_level: number) =>
      void (await t.api('post', `${project.path}/members`, project.creator).send({ user_id: user.id, access_level }).expect(201)),

    /** A project whose first push has a configuration, and a runner for it alone. */
    async withCi(yaml: string, more: Record<string, string> = {}) {
      const project = await aProject(t.ctx, { files: { '.gitlab-ci.yml': yaml, ...more } })
      await t.ctx.jobs.drain()
      const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id })
      return { project, runner }
    },

    /** Adds files; returns the id of the commit. */
    async push(project: TestProject, files: Record<string, string>, message = 'a push', branch = 'main'): Promise<string> {
      const actions = Object.entries(files).map(([file_path, content]) => ({ action: 'create', file_path, content }))
      const { body } = await t
        .api('post', `${project.path}/repository/commits`, project.creator)
        .send({ branch, commit_message: message, actions, ...(branch !== 'main' && { start_branch: 'main' }) })
        .expect(201)
      await t.ctx.jobs.drain()
      return body.id as string
    },

    /** The state of the newest pipeline, and of its jobs. */
    async states(project: TestProject, query = ''): Promise<string[]> {
      const [newest] = await get(project, '/pipelines')
      const jobs = await get(project, `/pipelines/${newest.id}/jobs${query}`)
      return [newest.status, ...jobs.map(({ name, status }: Record<string, string>) => `${name} ${status}`)]
    },

    jobNamed: async (project: TestProject, name: string) => (await get(project, '/jobs')).find((job: { name: string }) => job.name === name),

    act: (project: TestProject, id: number, action: string) => t.api('post', `${project.path}/jobs/${id}/${action}`, project.creator),
  }
}
