import { createHash, randomBytes } from 'node:crypto'
import { generateKey } from 'openpgp'
import { cache, call, TOKEN } from './harness.mjs'
import { generated, git } from './repository.mjs'

/** Creates a new SSH public key. */
export const sshKey = () =>
  `ssh-ed25519 ${Buffer.concat([Buffer.from('0000000b7373682d6564323535313900000020', 'hex'), randomBytes(32)]).toString('base64')}`

/** Creates a new GPG public key. */
export const gpgKey = async () => (await generateKey({ userIDs: [{ name: 'Root', email: 'admin@example.com' }] })).publicKey

/** Creates a commit with the signature of an unknown key. */
function signedCommit(source) {
  const plain = git(source, ['cat-file', 'commit', 'main']).toString()
  const signature = '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n'
  return git(source, ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], plain.replace('\n\n', signature)).toString().trim()
}

/** Pushes an image of one small layer to a repository of the container registry; `origin` is that of the service. */
export async function pushImage(origin, name, tag) {
  const headers = { authorization: `Basic ${Buffer.from(`bench:${TOKEN}`).toString('base64')}` }
  const part = async (body, mediaType) => {
    const bytes = JSON.stringify(body)
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    await call(`${origin}/v2/${name}/blobs/uploads/?digest=${digest}`, { method: 'POST', body, headers })
    return { mediaType, digest, size: bytes.length }
  }
  const config = await part({ os: 'linux' }, 'application/vnd.oci.image.config.v1+json')
  const layers = [await part({ layer: tag }, 'application/vnd.oci.image.layer.v1.tar')]
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  await call(`${origin}/v2/${name}/manifests/${tag}`, {
    method: 'PUT',
    body: { schemaVersion: 2, mediaType, config, layers },
    headers: { ...headers, 'content-type': mediaType },
  })
}

/** Runs tasks with limited concurrency. */
export async function atOnce(count, work, parallel = 8) {
  let next = 0
  const run = async () => {
    for (let i = next++; i < count; i = next++) await work(i)
  }
  await Promise.all(Array.from({ length: parallel }, run))
}

/** Seeds an instance: 300 projects, 200 users, 2,000 issues, 500 requests, 6,000 commits, 200 branches, 300 tags. */
export async function seed(bench) {
  const post = (path, body) => call(`${bench.api}${path}`, { method: 'POST', body })
  const put = (path, body) => call(`${bench.api}${path}`, { method: 'PUT', body })
  // `versus.mjs` seeds builds that are older than some of what is here: nothing is made of what they answer 404 to
  const ifThere = (made) =>
    made.catch((error) => {
      if (!error.message.includes(': 404 ')) throw error
      return {}
    })
  const group = await post('/groups', { name: 'Group', path: 'group', description: 'The group of the bench' })
  const sub = await post('/groups', { name: 'Sub', path: 'sub', parent_id: group.id })
  const source = generated(cache, { commits: 6_000, files: 500 })
  const project = await post('/projects', { name: 'Every call', path: 'every', namespace_id: group.id, description: 'x' })
  git(source, ['push', '-q', bench.remote(project.path_with_namespace), 'refs/heads/main'])
  const p = `/projects/${project.id}`
  const projects = []
  await atOnce(299, async (i) =>
    projects.push(await post('/projects', { name: `p${i}`, description: `Project ${i}`, namespace_id: i % 3 ? group.id : sub.id })),
  )
  const users = []
  await atOnce(200, async (i) => {
    users.push(
      await post('/users', {
        name: `User ${i}`,
        username: `user${i}`,
        email: `user${i}@example.com`,
        password: 'sufficiently long',
        skip_confirmation: true,
      }),
    )
  })
  const [user] = users
  await atOnce(50, (i) => post(`${p}/members`, { user_id: users[i].id, access_level: 30 }))
  await atOnce(30, (i) => post(`/groups/${group.id}/members`, { user_id: users[60 + i].id, access_level: 30 }))
  await atOnce(30, (i) => post(`${p}/labels`, { name: `label${i}`, color: '#ff0000', description: 'A label' }))
  await atOnce(10, (i) => post(`/groups/${group.id}/labels`, { name: `group label${i}`, color: '#00ff00' }))
  const milestone = await post(`${p}/milestones`, { title: 'v1' })
  await atOnce(20, (i) => post(`${p}/milestones`, { title: `v1.${i}` }))
  const groupMilestone = await post(`/groups/${group.id}/milestones`, { title: 'g1' })
  const boards = {}
  for (const [at, milestone_id] of [
    [p, milestone.id],
    [`/groups/${group.id}`, groupMilestone.id],
  ]) {
    const { id = 0 } = await ifThere(post(`${at}/boards`, { name: 'Development' }))
    boards[at] = { board_id: id, list_id: id && (await post(`${at}/boards/${id}/lists`, { milestone_id })).id }
  }
  await atOnce(2_000, (i) =>
    post(`${p}/issues`, {
      title: `Issue ${i}`,
      description: `The description of issue ${i} in a few words, as people write them.`,
      labels: `label${i % 30},label${(i * 7) % 30}`,
      ...(i % 5 === 0 && { milestone_id: milestone.id }),
      ...(i % 3 === 0 && { assignee_ids: [users[i % 50].id] }),
    }),
  )
  // the first issue gets notes, as the reads use it
  await atOnce(40, (i) => post(`${p}/issues/1/notes`, { body: `A note that says something, number ${i}` }))
  const head = (await call(`${bench.api}${p}/repository/commits?per_page=1`))[0].id
  await atOnce(300, (i) => post(`${p}/repository/tags`, { tag_name: `v${i}`, ref: head, message: i % 2 ? 'annotated' : undefined }))
  await atOnce(
    200,
    async (i) => {
      const actions = [{ action: 'create', file_path: `topics/t${i}`, content: `${i}\n` }]
      await post(`${p}/repository/commits`, { branch: `topic${i}`, start_branch: 'main', commit_message: `topic ${i}`, actions })
      await post(`${p}/merge_requests`, {
        title: `Request ${i}`,
        description: `Closes #${i + 2}`,
        source_branch: `topic${i}`,
        target_branch: 'main',
        labels: `label${i % 30}`,
      })
    },
    4,
  )
  await atOnce(300, (i) =>
    post(`${p}/merge_requests`, {
      title: `Other ${i}`,
      source_branch: `topic${i % 200}`,
      target_branch: `topic${(i + 50 * (1 + Math.floor(i / 200))) % 200}`,
    }),
  )
  await atOnce(30, (i) => post(`${p}/merge_requests/1/notes`, { body: `A note on the request, number ${i}` }))
  await atOnce(20, (i) => post(`${p}/statuses/${head}`, { state: 'success', name: `job ${i}`, target_url: 'https://ci.example.com/1' }))
  const snippet = await post(`${p}/snippets`, { title: 'Snippet', file_name: 'a.rb', content: 'puts 1\n', visibility: 'private' })
  const own = await post('/snippets', { title: 'Own', file_name: 'a.rb', content: 'puts 1\n', visibility: 'public' })
  await post(`${p}/wikis`, { title: 'home', content: '# Home' })
  await post(`${p}/releases`, { tag_name: 'v1', description: 'The first' })
  const link = await post(`${p}/releases/v1/assets/links`, { name: 'a', url: 'https://example.com/a' })
  const comment = await post(`${p}/repository/commits/${head}/discussions`, { body: 'A comment' })
  for (const at of [p, `/groups/${group.id}`]) await post(`${at}/variables`, { key: 'KEY', value: 'value' })
  await ifThere(put(`${p}/integrations/external-wiki`, { external_wiki_url: 'https://example.com' }))
  const badges = {}
  for (const at of [p, `/groups/${group.id}`])
    badges[at] = (await ifThere(post(`${at}/badges`, { link_url: 'https://example.com/%{project_path}', image_url: 'https://example.com/a.svg' }))).id
  const mirror = await ifThere(post(`${p}/remote_mirrors`, { url: 'http://127.0.0.1:9/a.git' }))
  const hooks = {}
  for (const at of [p, `/groups/${group.id}`, '']) hooks[at] = (await post(`${at}/hooks`, { url: 'http://127.0.0.1:9/', push_events: false })).id
  const tokens = {}
  for (const at of [p, `/groups/${group.id}`]) tokens[at] = (await post(`${at}/deploy_tokens`, { name: 'd', scopes: ['read_repository'] })).id
  const deployKey = await post(`${p}/deploy_keys`, { title: 'd', key: sshKey() })
  const ownKey = await post('/user/keys', { title: 'k', key: sshKey() })
  const otherKey = await post(`/users/${user.id}/keys`, { title: 'k', key: sshKey() })
  const email = await post('/user/emails', { email: 'more@example.com' })
  const gpgKeys = {
    own: (await post('/user/gpg_keys', { key: await gpgKey() }))[0],
    other: (await post(`/users/${user.id}/gpg_keys`, { key: await gpgKey() }))[0],
  }
  const ownToken = await post('/user/personal_access_tokens', { name: 'seeded', scopes: ['read_user'] })
  const protectedTag = await post(`${p}/protected_tags`, { name: 'v*' })
  const impersonation = await post(`/users/${user.id}/impersonation_tokens`, { name: 'i', scopes: ['api'] })
  for (const at of [p, `/groups/${group.id}`, `/users/${user.id}`]) await put(`${at}/custom_attributes/key`, { value: 'v' })
  const awards = {}
  for (const on of ['issues/1', 'merge_requests/1', `snippets/${snippet.id}`]) {
    const discussion = await post(`${p}/${on}/discussions`, { body: 'discussed' })
    const [note] = discussion.notes
    const award = (await post(`${p}/${on}/award_emoji`, { name: 'thumbsup' })).id
    const onNote = (await post(`${p}/${on}/notes/${note.id}/award_emoji`, { name: 'heart' })).id
    awards[on] = { discussion: discussion.id, note: note.id, award, onNote }
  }
  await atOnce(200, (i) => ifThere(put(`${p}/packages/generic/package${i % 20}/1.${i}/file`, { i })))
  const found = (await ifThere(call(`${bench.api}${p}/packages?per_page=1`)))[0]?.id
  const { origin } = new URL(bench.api)
  await atOnce(30, (i) => ifThere(pushImage(origin, `${project.path_with_namespace}/image${i}`, 'v1')))
  await atOnce(200, (i) => ifThere(pushImage(origin, project.path_with_namespace, `v${i}`)))
  const image = (await ifThere(call(`${bench.api}${p}/registry/repositories?per_page=1`)))[0]?.id
  const version = (await call(`${bench.api}${p}/merge_requests/1/versions`))[0]?.id
  const label = (await call(`${bench.api}${p}/labels?per_page=1`))[0].id
  const groupLabel = (await call(`${bench.api}/groups/${group.id}/labels?per_page=1`))[0].id
  const [pipeline] = await call(`${bench.api}${p}/pipelines`)
  const [job] = await ifThere(call(`${bench.api}${p}/jobs`)).then(Array.from)
  const signed = signedCommit(source)
  git(source, ['push', '-q', bench.remote(project.path_with_namespace), `${signed}:refs/heads/signed`])
  const [oid, file] = git(source, ['ls-tree', '-r', '--format=%(objectname) %(path)', 'main']).toString().split('\n')[0].split(' ')
  await bench.sql('vacuum analyze')
  const ids = {
    group,
    sub,
    other: projects[0],
    groupMember: users[60].id,
    users,
    signed,
    gpgKeys,
    ownToken,
    package: found,
    image,
    protectedTag,
    otherKey,
    source,
    project,
    user,
    milestone,
    groupMilestone,
    boards,
    head,
    snippet,
    own,
    link,
    comment,
    badges,
    mirror,
    hooks,
    tokens,
    deployKey,
    ownKey,
    email,
  }
  return { ...ids, impersonation, awards, version, label, groupLabel, pipeline, job, oid, file, p }
}
