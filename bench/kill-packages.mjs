import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { answers, call, examined, need, PATIENCE, query, served, startAgain, strike, TOKEN, VICTIMS } from './kill.mjs'
import { browser } from './kill-writes.mjs'

const gitServer = fileURLToPath(new URL('./http-backend-server.mjs', import.meta.url))
const PASSWORD = 'kill password 0815'
const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
/** Lets two days pass for a service at once, after which nothing unused may be left. */
const TWO_DAYS_LATER = '--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+172800000'
/** Jobs that wait for their time, and those that remove what nothing needs. */
const SWEEPS = ['remove unused layers', 'remove package files', 'remove leftovers']
const UPDATES = ['pull from a mirror', 'push to a mirror']

const hashed = (kind, bytes, encoding = 'hex') => createHash(kind).update(bytes).digest(encoding)
const digestOf = (bytes) => `sha256:${hashed('sha256', bytes)}`

/**
 * The kinds of writes: each makes one and resolves, once it is acknowledged, with what to check; otherwise with null. A
 * check resolves with what is lost, or with null; `settled` is true when all work must have been done.
 */
const WRITES = {
  async generic(w, n) {
    const bytes = randomBytes(n % 5 === 0 ? 3_000_000 : 20_000)
    const path = `/api/v4${w.at}/packages/generic/g${n % 9}/1.${n}/file.bin`
    return (await w.send('PUT', path, { body: bytes }))?.status === 201 ? () => w.same(path, bytes) : null
  },

  async npm(w, n) {
    const [bytes, name, version] = [randomBytes(30_000), `@kill/p${n % 9}`, `1.0.${n}`]
    const dist = { shasum: hashed('sha1', bytes), integrity: `sha512-${hashed('sha512', bytes, 'base64')}` }
    const document = {
      ...{ _id: name, name, 'dist-tags': { latest: version, [`t${n % 3}`]: version } },
      versions: { [version]: { name, version, dist } },
      _attachments: { [`p-${version}.tgz`]: { data: bytes.toString('base64'), length: bytes.length } },
    }
    const path = `/api/v4${w.at}/packages/npm/${name.replace('/', '%2f')}`
    if ((await w.send('PUT', path, { body: JSON.stringify(document) }))?.status !== 201) return null
    return async () => {
      const answer = await w.again(path)
      const shown = answer?.status === 200 ? JSON.parse(answer.body).versions[version] : null
      if (shown?.dist.shasum !== dist.shasum) return `lost: ${name} ${version} is ${answer?.status} ${JSON.stringify(shown)}`
      return w.same(new URL(shown.dist.tarball).pathname, bytes)
    }
  },

  async pypi(w, n) {
    const [bytes, file] = [randomBytes(30_000), `kill${n % 9}-1.${n}.tar.gz`]
    const form = new FormData()
    for (const [key, value] of Object.entries({ name: `kill${n % 9}`, version: `1.${n}`, sha256_digest: hashed('sha256', bytes) }))
      form.set(key, value)
    form.set('content', new Blob([bytes]), file)
    if ((await w.send('POST', `/api/v4${w.at}/packages/pypi`, { body: form }))?.status !== 201) return null
    return async () => {
      const page = await w.again(`/api/v4${w.at}/packages/pypi/simple/kill${n % 9}`)
      const link = [...(page?.body.toString() ?? '').matchAll(/href="([^"#]+)#sha256=([0-9a-f]{64})"/g)].find(([, href]) => href.endsWith(`/${file}`))
      return link ? w.same(link[1], bytes) : `lost: ${file} is not in the list (${page?.status})`
    }
  },

  async maven(w, n) {
    const bytes = randomBytes(30_000)
    const folder = `/api/v4${w.at}/packages/maven/org/kill/app${n % 9}`
    const jar = `${folder}/1.${n}/app${n % 9}-1.${n}.jar`
    if ((await w.send('PUT', jar, { body: bytes }))?.status !== 200) return null
    await w.send('PUT', `${jar}.sha1`, { body: hashed('sha1', bytes) })
    await w.send('PUT', `${folder}/maven-metadata.xml`, { body: `<metadata><!-- ${n} --></metadata>` })
    return async () => {
      const list = await w.again(`${folder}/maven-metadata.xml`)
      if (!list?.body.toString().includes(`<version>1.${n}</version>`)) return `lost: ${jar} is not in the list of versions`
      const sum = await w.again(`${jar}.sha1`)
      if (sum?.body.toString() !== hashed('sha1', bytes)) return `lost: the checksum of ${jar} is ${sum?.status} ${sum?.body}`
      return w.same(jar, bytes)
    }
  },

  /** A tag, which is a version of a module. */
  async go(w, n) {
    const tag = `v1.${n}.0`
    if ((await w.api('POST', `${w.at}/repository/tags`, { tag_name: tag, ref: 'main' }))?.status !== 201) return null
    return async () => {
      const list = await w.again(`/api/v4${w.at}/packages/go/${encodeURIComponent(w.module)}/@v/list`)
      return list?.body.toString().includes(`${tag}\n`) ? null : `lost: ${tag} of Go (${list?.status})`
    }
  },

  /** An image: its layers whole and in pieces, then the manifest with a tag. */
  async image(w, n) {
    const [config, layer] = [Buffer.from(JSON.stringify({ n })), randomBytes(n % 4 === 0 ? 2_000_000 : 40_000)]
    const name = `/v2/${w.page.slice(1)}/app${n % 3}`
    for (const bytes of [config, layer]) {
      const begun = await w.send('POST', `${name}/blobs/uploads/`)
      const place = begun?.status === 202 ? begun.headers.get('location') : null
      const half = Math.floor(bytes.length / 2)
      if (!place) return null
      if (bytes === layer && (await w.send('PATCH', place, { body: bytes.subarray(0, half), range: `0-${half - 1}` }))?.status !== 202) return null
      const rest = bytes === layer ? { body: bytes.subarray(half), range: `${half}-${bytes.length - 1}` } : { body: bytes }
      if ((await w.send('PUT', `${place}?digest=${digestOf(bytes)}`, rest))?.status !== 201) return null
    }
    const descriptor = (bytes, mediaType) => ({ mediaType, digest: digestOf(bytes), size: bytes.length })
    const manifest = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: IMAGE, config: descriptor(config, 'application/vnd.oci.image.config.v1+json') },
      layers: [descriptor(layer, 'application/vnd.oci.image.layer.v1.tar')],
    })
    if ((await w.send('PUT', `${name}/manifests/v${n}`, { body: manifest, type: IMAGE }))?.status !== 201) return null
    return async () => {
      for (const [path, bytes] of [[`manifests/v${n}`, Buffer.from(manifest)], ...[config, layer].map((each) => [`blobs/${digestOf(each)}`, each])]) {
        const fault = await w.same(`${name}/${path}`, bytes)
        if (fault) return fault
      }
      return null
    }
  },

  /** A package that is published and deleted. */
  async deletion(w, n) {
    const path = `/api/v4${w.at}/packages/generic/doomed/1.${n}/file.bin`
    const made = await w.send('PUT', `${path}?select=package_file`, { body: randomBytes(10_000) })
    if (made?.status !== 201) return null
    if ((await w.api('DELETE', `${w.at}/packages/${JSON.parse(made.body).package_id}`))?.status !== 204) return null
    return async () => {
      const answer = await w.again(path)
      return answer?.status === 404 ? null : `undone: the deletion of ${path} (${answer?.status})`
    }
  },

  /** An invitation to a new project that is accepted. */
  async invitation(w, n) {
    const made = await w.api('POST', '/projects', { name: `invited${n}` })
    if (made?.status !== 201) return null
    const sent = await w.api('POST', `/projects/${made.body.id}/invitations`, { email: w.guest.email, access_level: 30 })
    if (sent?.status !== 201 || sent.body.status !== 'success') return null
    const list = await w.api('GET', `/projects/${made.body.id}/invitations`)
    const id = list?.body?.[0]?.id
    const accepted = id && (await w.guest.person.send('/-/invites', '/-/invites/accept', { id: String(id) }))
    return async () => {
      const member = await w.read(`/projects/${made.body.id}/members/${w.guest.id}`)
      const { body: waiting } = await w.read(`/projects/${made.body.id}/invitations`)
      const is = `${member.status === 200 ? 'a member' : 'no member'}, ${waiting?.length} waiting`
      return is === 'a member, 0 waiting' || (!accepted && is === 'no member, 1 waiting')
        ? null
        : `lost: an invitation has ${is}; accepted: ${accepted}`
    }
  },

  /** A feature flag that is made and switched off, with a list of users. */
  async flag(w, n) {
    const [name, user_xids] = [`flag_${n}`, `a${n},b${n}`]
    const strategies = [{ name: 'default', parameters: {}, scopes: [{ environment_scope: '*' }] }]
    if ((await w.api('POST', `${w.at}/feature_flags`, { name, version: 'new_version_flag', strategies }))?.status !== 201) return null
    const list = await w.api('POST', `${w.at}/feature_flags_user_lists`, { name, user_xids })
    const off = await w.api('PUT', `${w.at}/feature_flags/${name}`, { active: false })
    return async () => {
      const { body } = await w.read(`${w.at}/feature_flags/${name}`)
      if (body?.name !== name || body.strategies.length !== 1 || (off?.status === 200 && body.active))
        return `lost: ${name} is ${JSON.stringify(body)}`
      if (list?.status !== 201) return null
      const kept = await w.read(`${w.at}/feature_flags_user_lists/${list.body.iid}`)
      return kept.body?.user_xids === user_xids ? null : `lost: a list of users is ${kept.status} ${JSON.stringify(kept.body)}`
    }
  },

  /** Rows of one address each: a badge, a freeze period, a token of the project. */
  async settings(w, n) {
    const [kind, sent] = [
      ['badges', { link_url: `http://example.org/${n}`, image_url: 'http://example.org/i' }],
      ['freeze_periods', { freeze_start: '0 23 * * 5', freeze_end: '0 7 * * 1' }],
      ['access_tokens', { name: `t${n}`, scopes: ['read_api'], expires_at: new Date(Date.now() + 864e5).toISOString().slice(0, 10) }],
    ][n % 3]
    const made = await w.api('POST', `${w.at}/${kind}`, sent)
    if (made?.status !== 201) return null
    return async () => {
      const { status } = await w.read(`${w.at}/${kind}/${made.body.id}`)
      return status === 200 ? null : `lost: one of ${kind} is ${status}`
    }
  },

  /** A commit in a repository that a project follows. */
  async pull(w, n) {
    const work = w.mirrors.source
    const run = (...args) => spawnSync('git', ['-C', work, ...args], { env: w.mirrors.env, encoding: 'utf8' })
    run('commit', '-q', '--allow-empty', '-m', `${n}`)
    const head = run('rev-parse', 'HEAD').stdout.trim()
    if ((await w.api('POST', `${w.mirrors.follower}/mirror/pull`))?.status !== 200) return null
    return async (settled) => {
      if (!settled) return null
      const { body } = await w.read(`${w.mirrors.follower}/repository/commits/${head}`)
      return body?.id === head ? null : `undone: a pull of ${head}`
    }
  },

  /** A commit in a project that is pushed to another repository. */
  async push(w, n) {
    const actions = [{ action: 'create', file_path: `pushed${n}`, content: `${n}` }]
    const made = await w.api('POST', `${w.mirrors.pusher}/repository/commits`, { branch: 'main', commit_message: `${n}`, actions })
    if (made?.status !== 201) return null
    return async (settled) => {
      if (!settled) return null
      const has = spawnSync('git', ['-C', w.mirrors.target, 'merge-base', '--is-ancestor', made.body.id, 'refs/heads/main'], { env: w.mirrors.env })
      return has.status === 0 ? null : `undone: a push of ${made.body.id} to a mirror`
    }
  },
}

/** What must be true of the rows whenever the service is killed. */
const RULES = {
  'packages without a file': `select p.id from packages p where not exists (select from package_files f where f.package_id = p.id)`,
  'tags of packages without a version': `select t.id from package_tags t left join packages p on p.id = t.package_id where p.id is null`,
  'manifests without their layers': `select r.manifest_id from container_references r join container_manifests m on m.id = r.manifest_id where not exists (
    select from container_blobs b where b.repository_id = m.repository_id and b.oid = r.oid)`,
  'projects whose packages have another size': `select p.id from projects p where p.packages_size <> (select coalesce(sum(f.size), 0) from package_files f where f.project_id = p.id)`,
}

const STORED = `select oid, max(size) as size from (select oid, size from package_files union all select oid, size from container_blobs) f group by oid`

/** The objects in the store: the bytes of each by its digest. */
function storedIn(dataDir) {
  const root = join(dataDir, 'packages')
  const folders = (path) => (existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{2,60}$/.test(name)) : [])
  return new Map(
    folders(root).flatMap((first) =>
      folders(join(root, first)).flatMap((second) =>
        folders(join(root, first, second)).map((rest) => [first + second + rest, join(root, first, second, rest)]),
      ),
    ),
  )
}

/** What is wrong with the rows, and with the bytes that they name. */
async function consistent(dataDir, whole) {
  const faults = []
  for (const [what, text] of Object.entries(RULES)) {
    const { length } = await query(dataDir, text)
    if (length > 0) faults.push(`${length} ${what}`)
  }
  const stored = storedIn(dataDir)
  for (const { oid, size } of await query(dataDir, STORED)) {
    const bytes = stored.has(oid) ? readFileSync(stored.get(oid)) : null
    if (bytes?.length !== Number(size)) faults.push(`a row names ${oid} of ${size} bytes, and the store has ${bytes?.length ?? 'nothing'}`)
    else if (whole && hashed('sha256', bytes) !== oid) faults.push(`${oid} has other bytes`)
  }
  return faults
}

/** Projects, repositories elsewhere, a second user, and what the writers need. */
async function prepare(service, { dataDir, elsewhere }) {
  const api = (method, path, body) => call(service().url, method, path, body)
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_COUNT: '2' }
  Object.assign(env, {
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
    GIT_CONFIG_KEY_1: 'http.receivepack',
    GIT_CONFIG_VALUE_1: 'true',
  })
  for (const who of ['AUTHOR', 'COMMITTER']) Object.assign(env, { [`GIT_${who}_NAME`]: 'Ada', [`GIT_${who}_EMAIL`]: 'ada@example.com' })
  const [source, target] = ['source', 'target'].map((name) => join(elsewhere.folder, name))
  spawnSync('git', ['init', '-q', '-b', 'main', source], { env })
  spawnSync('git', ['-C', source, 'commit', '-q', '--allow-empty', '-m', 'first'], { env })
  spawnSync('git', ['init', '-q', '--bare', '-b', 'main', target], { env })
  spawnSync('git', ['-C', target, 'config', 'http.receivepack', 'true'], { env })

  const project = need(await api('POST', '/projects', { name: 'kill', visibility: 'private' }), 201, 'a project')
  const module = `${new URL(project.web_url).hostname}${new URL(project.web_url).pathname}`
  const actions = [{ action: 'create', file_path: 'go.mod', content: `module ${module}\n` }]
  need(await api('POST', `/projects/${project.id}/repository/commits`, { branch: 'main', commit_message: 'x', actions }), 201, 'a commit')
  const follower = need(
    await api('POST', '/projects', { name: 'follower', import_url: `${elsewhere.url}/source/.git`, mirror: true }),
    201,
    'a follower',
  )
  const pusher = need(await api('POST', '/projects', { name: 'pusher' }), 201, 'a pusher')
  const url = elsewhere.url.replace('://', '://a:b@')
  need(await api('POST', `/projects/${pusher.id}/remote_mirrors`, { url: `${url}/target`, enabled: true }), 201, 'a push mirror')
  const user = { username: 'guest', name: 'Guest', email: 'guest@example.com', password: PASSWORD, skip_confirmation: true }
  const guest = need(await api('POST', '/users', user), 201, 'a user')
  const fetched = async (address, options) => {
    const signal = AbortSignal.timeout(PATIENCE)
    try {
      const answer = await fetch(address, { ...options, signal })
      return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) }
    } catch {
      if (signal.aborted) throw new Error(`${options?.method ?? 'GET'} ${address} is not answered`)
      return null
    }
  }
  const unexpected = []
  const person = browser(() => service().url, fetched)
  await person.send('/users/sign_in', '/users/sign_in', { 'user[login]': 'guest', 'user[password]': PASSWORD })
  const basic = `Basic ${Buffer.from(`root:${TOKEN}`).toString('base64')}`
  const writing = {
    ...{ api, dataDir, at: `/projects/${project.id}`, page: `/${project.path_with_namespace}`, module, unexpected },
    guest: { id: guest.id, email: user.email, person },
    mirrors: { source, target, env, follower: `/projects/${follower.id}`, pusher: `/projects/${pusher.id}` },
    async send(method, path, { body, range, type } = {}) {
      const headers = { authorization: basic, ...(range && { 'content-range': range }), ...(type && { 'content-type': type }) }
      if (body && !type && !(body instanceof FormData)) headers['content-type'] = 'application/octet-stream'
      const answer = await fetched(new URL(path, service().url).href, { method, headers, ...(body !== undefined && { body }) })
      if (answer?.status >= 500 && answer.status !== 503)
        unexpected.push(`${method} ${path}: ${answer.status} ${answer.body.toString().slice(0, 200)}`)
      return answer
    },
    /** GETs a path with retries while the database recovers. */
    async again(path) {
      for (let attempt = 1; ; attempt++) {
        const answer = await writing.send('GET', path)
        if ((answer && answer.status !== 503) || attempt === 20) return answer
        await sleep(500)
      }
    },
    async same(path, bytes) {
      const answer = await writing.again(path)
      return answer?.status === 200 && bytes.equals(answer.body)
        ? null
        : `lost: ${path} is ${answer?.status}, ${answer?.body.length} bytes of ${bytes.length}`
    },
    read: async (path) => (await served(service().url, path)) ?? { status: 'not answered' },
  }
  return writing
}

/** Lets the updates of mirrors whose time has not come run now. */
const hurry = (dataDir, kinds) => query(dataDir, `update jobs set run_at = now() where kind = any($1::text[]) and worker is null`, [kinds])

/** The faults that checks find, some at a time. */
async function found(checks, settled = false) {
  const faults = []
  const left = [...checks]
  const next = async () => {
    for (let check = left.shift(); check; check = left.shift()) {
      const fault = await check(settled)
      if (fault) faults.push(fault)
    }
  }
  await Promise.all(Array.from({ length: 4 }, next))
  return faults
}

/** Starts the Git server whose repositories are mirrored; nothing kills it. */
async function startElsewhere(folder) {
  mkdirSync(folder)
  const child = spawn(process.execPath, [gitServer, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(`${text}`.trim())))
  return { url, folder, end: () => child.kill() }
}

/**
 * Kills the victims in turn at random moments while packages of each kind are published, images pushed, mirrors updated,
 * invitations accepted and flags changed. Resolves with the faults found and the number of acknowledged writes by kind.
 */
export async function killPackages(rounds, report, victims = VICTIMS, { environment = {}, least = 200, more = 1_000, minutes = Infinity } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const [faults, acknowledged, figures] = [[], {}, { endedStarts: [] }]
  const elsewhere = await startElsewhere(join(folder, 'elsewhere'))
  const always = { ROOST_ALLOW_LOCAL_REQUESTS: 'true', ...environment }
  const end = Date.now() + minutes * 60_000
  let service = await startAgain(dataDir, { ROOST_ADMIN_PASSWORD: PASSWORD, ...always }, figures)
  let done = 0
  try {
    const w = await prepare(() => service, { dataDir, elsewhere })
    const all = []
    let count = 0
    for (let round = 1; round <= rounds && Date.now() < end; round++) {
      const victim = victims[(round - 1) % victims.length]
      const before = faults.length
      const fresh = []
      await hurry(dataDir, UPDATES)
      const until = Date.now() + least + Math.random() * more
      const writers = Object.entries(WRITES).map(async ([kind, write]) => {
        while (Date.now() < until) {
          const check = await write(w, ++count)
          if (!check) continue
          acknowledged[kind] = (acknowledged[kind] ?? 0) + 1
          fresh.push(check)
        }
      })
      await sleep(until - Date.now())
      const gone = await strike(victim, service, dataDir)
      if (!gone) await answers(service).catch((error) => faults.push(`round ${round} (${victim}): ${error.message}`))
      if (gone || service.hasEnded()) {
        await service.end()
        service = await startAgain(dataDir, always, figures)
      }
      await Promise.all(writers)
      for (const text of [...(await found(fresh)), ...(await consistent(dataDir, false))]) faults.push(`round ${round} (${victim}): ${text}`)
      all.push(...fresh)
      done = round
      report(`round ${round} (${victim}): ${fresh.length} writes acknowledged, ${faults.slice(before).join('; ') || 'nothing lost'}`)
    }
    await service.end('SIGTERM')
    service = await startAgain(dataDir, always, figures)
    await settle(dataDir)
    faults.push(...(await found(all, true)), ...(await consistent(dataDir, true)))
    await service.end('SIGTERM')
    service = await startAgain(dataDir, { ...always, NODE_OPTIONS: TWO_DAYS_LATER }, figures)
    faults.push(...(await swept(dataDir)), ...(await found(all)), ...(await consistent(dataDir, true)))
    await service.end('SIGTERM')
    service = await startAgain(dataDir, always, figures)
    faults.push(...(await settledDoctor(service, dataDir)), ...figures.endedStarts, ...w.unexpected)
  } finally {
    elsewhere.end()
    await service.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return { faults, rounds: done, acknowledged }
}

/** Waits until the mirrors have done what they were asked for. */
async function settle(dataDir) {
  for (const until = Date.now() + PATIENCE; ; await sleep(500)) {
    await hurry(dataDir, UPDATES)
    const open = await query(dataDir, `select kind, attempts, last_error from jobs where kind = any($1::text[]) and failed_at is null`, [UPDATES])
    if (open.length === 0) return
    if (Date.now() > until) throw new Error(`mirrors do not end: ${JSON.stringify(open)}`)
  }
}

/** What is left two days later that no row names. */
async function swept(dataDir) {
  let left = []
  for (const until = Date.now() + PATIENCE; Date.now() < until; await sleep(1_000)) {
    await query(dataDir, `update container_blobs set created_at = now() - interval '2 days' where created_at > now() - interval '1 day'`)
    await query(dataDir, `update job_schedules set next_at = now() where kind = any($1::text[])`, [SWEEPS])
    const named = new Set((await query(dataDir, STORED)).map(({ oid }) => oid))
    const listed = (name) => (existsSync(join(dataDir, name)) ? readdirSync(join(dataDir, name)) : [])
    const unneeded = await query(
      dataDir,
      `select b.oid from container_blobs b where not exists (select from container_references r join container_manifests m on m.id = r.manifest_id
        where m.repository_id = b.repository_id and r.oid = b.oid)`,
    )
    left = [
      ...[...storedIn(dataDir).keys()].filter((oid) => !named.has(oid)).map((oid) => `${oid} is left in the store`),
      ...listed('packages/incoming').map((name) => `the upload ${name} is left`),
      ...listed('container-uploads').map((name) => `the upload of a layer ${name} is left`),
      ...unneeded.map(({ oid }) => `the layer ${oid}, which nothing needs, is left`),
    ]
    if (left.length === 0) return []
  }
  return left
}

/** The doctor's findings, once the service has removed leftovers of what was killed last. */
async function settledDoctor(service, dataDir) {
  for (let attempt = 1; ; attempt++) {
    const faults = await examined(service, dataDir)
    if (attempt === 30 || !faults.some((fault) => /stale file: /.test(fault))) return faults
    await sleep(3_000)
  }
}

async function main() {
  const { ROOST_WORKERS = '1' } = process.env
  const victims = process.argv[3]?.split(',') ?? (ROOST_WORKERS === '1' ? VICTIMS : [...VICTIMS, 'worker'])
  const say = (line) => process.stdout.write(`${line}\n`)
  const { faults, rounds, acknowledged } = await killPackages(Number(process.argv[2] ?? 50), say, victims, { environment: { ROOST_WORKERS } })
  for (const fault of faults) say(fault)
  say(
    `acknowledged: ${Object.entries(acknowledged)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')}`,
  )
  say(`${rounds} kills, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
