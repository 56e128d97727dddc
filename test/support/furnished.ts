import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { nupkg } from '../routes/packages/nupkg.js'
import { basic, registryOf } from '../routes/packages/packages.js'
import type { TestApp } from './app.js'
import type { TestProject, TestUser } from './factories.js'

/** What `npm publish` sends. */
export function npmDocument(name: string, version: string, more: object = {}) {
  const bytes = Buffer.from(`${name} ${version}`)
  return {
    ...{ _id: name, name, 'dist-tags': { latest: version } },
    versions: { [version]: { name, version, ...more, dist: { shasum: createHash('sha1').update(bytes).digest('hex') } } },
    _attachments: { [`${name}-${version}.tgz`]: { data: bytes.toString('base64'), length: bytes.length } },
  }
}

/**
 * Gives a project, which has an issue, one of each thing that teams set up or publish: packages of each format, an image,
 * flags, badges, mirrors, schedules, tokens, links and invitations. `text` stands in all names that take it: a lower-case
 * word.
 */
export async function furnish(t: TestApp, project: TestProject, text: string, keeper: TestUser = project.creator): Promise<void> {
  const say = async (path: string, body: object) => (await t.api('post', `${project.path}${path}`, keeper).send(body).expect(201)).body
  const { send, image } = registryOf(t)
  const at = `${project.path}/packages`
  await send('put', `${at}/generic/${text}/1.0/${text}.bin`, keeper).type('application/octet-stream').send(Buffer.from(text)).expect(201)
  await send('put', `${at}/npm/@${text}%2f${text}`, keeper)
    .send(npmDocument(`@${text}/${text}`, '1.0.0', { description: text }))
    .expect(201)
  await send('post', `${at}/pypi`, keeper)
    .field({ name: text, version: '1.0', summary: text })
    .attach('content', Buffer.from(text), `${text}-1.0.tar.gz`)
    .expect(201)
  await send('put', `${at}/maven/org/${text}/app/1.0/${text}-1.0.jar`, keeper).type('application/octet-stream').send(Buffer.from(text)).expect(200)
  await send('put', `${at}/nuget`, keeper)
    .attach('package', await nupkg(text, '1.0.0', `<title>${text}</title>`), 'package.nupkg')
    .expect(201)
  await image({ name: `${project.fullPath.toLowerCase()}/${text}`, tag: text, by: keeper })
  await say('/feature_flags_user_lists', { name: text, user_xids: text })
  await say('/feature_flags', {
    ...{ name: text, description: text, version: 'new_version_flag' },
    strategies: [{ name: 'userWithId', parameters: { userIds: text }, scopes: [{ environment_scope: text }] }],
  })
  await say('/badges', { name: text, link_url: `https://${text}.example`, image_url: `https://${text}.example/i` })
  await say('/freeze_periods', { freeze_start: '0 23 * * 5', freeze_end: '0 7 * * 1', cron_timezone: 'UTC' })
  await say('/packages/protection/rules', { package_type: 'npm', package_name_pattern: `@${text}/*`, minimum_access_level_for_push: 'maintainer' })
  await say('/access_tokens', { name: text, scopes: ['api'], expires_at: new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10) })
  await say('/deploy_tokens', { name: text, scopes: ['read_registry'] })
  await say('/environments', { name: text, external_url: `https://${text}.example` })
  await say('/variables', { key: text.toUpperCase(), value: text, environment_scope: text })
  await say('/pipeline_schedules', { description: text, ref: 'main', cron: '0 1 * * *' })
  await say('/triggers', { description: text })
  await say('/invitations', { email: `${text}@example.org`, access_level: 30 })
  await say('/hooks', { url: `https://${text}.example` })
  await say('/remote_mirrors', { url: `https://a:b@8.8.8.8/${text}.git`, enabled: false })
  await t
    .api('put', `${project.path}/services/external-wiki`, keeper)
    .send({ external_wiki_url: `https://${text}.example` })
    .expect(200)
  const { iid } = await say('/issues', { title: text, labels: text })
  await say(`/issues/${iid}/links`, { target_project_id: project.id, target_issue_iid: 1 })
  await say('/boards', { name: text })
  expect((await fetch(`${t.url}/v2/${project.fullPath.toLowerCase()}/${text}/tags/list`, { headers: basic('x', keeper.token) })).status).toBe(200)
}
