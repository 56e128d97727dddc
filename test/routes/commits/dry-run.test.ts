import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

it('checks a cherry-pick or revert and writes nothing (C-51)', async () => {
  const project = await aProject(t.ctx)
  const bare = bareOf(t, project)
  const [first, topic] = bare.commits(
    { branch: 'main', files: { a: 'a\n' } },
    { branch: 'topic', parents: [0], files: { b: 'b\n' } },
    { branch: 'other', parents: [0], files: { a: 'other\n', b: 'other\n' } },
  ) as [string, string]
  const objects = () => readdirSync(join(bare.directory, 'objects'), { recursive: true }).sort()
  const state = () => [bare.git('for-each-ref'), objects()]
  const before = state()
  const dry = (verb: 'cherry_pick' | 'revert', sha: string, branch: string, caller = project.creator) =>
    t.api('post', `${project.path}/repository/commits/${sha}/${verb}`, caller).send({ branch, dry_run: true })
  await dry('cherry_pick', topic, 'main').expect(200, { dry_run: 'success' })
  await dry('revert', topic, 'topic').expect(200, { dry_run: 'success' })
  for (const [verb, sha, branch] of [
    ['cherry_pick', topic, 'other'],
    ['cherry_pick', topic, 'topic'],
    ['revert', first, 'other'],
  ] as const) {
    const { body } = await dry(verb, sha, branch).expect(400)
    expect(body.message).toContain('automatically')
  }
  await dry('cherry_pick', topic, 'none').expect(404)
  await dry('cherry_pick', topic, 'main', await aUser(t.ctx)).expect(404)
  expect(state()).toEqual(before)
})
