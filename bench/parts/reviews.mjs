import { readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { brotliCompressSync } from 'node:zlib'
import { call, native, postgresOf, ticks, timed } from '../harness.mjs'
import { LOOP } from '../loop.mjs'
import { git } from '../repository.mjs'

const PASSWORD = 'long enough 0815'
const NOTES = 100
const FILES = 20
const MANY_FILES = 1_500
const MANY_MORE_FILES = 3_000
const MANY_THREADS = 1_000
/** People who look at one merge request, how often each of them does, for how long, and how often it is pushed to. */
const LOOKING = { people: 50, every: 5_000, for: 30_000, pushes: 3_000 }
const ROUNDS = 60
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const agent = new http.Agent({ keepAlive: true })

const rank = (times, part) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)]

/** Writes both figures of the loop when it gets SIGUSR2, and begins anew. */
const MONITOR = `${LOOP}
process.on('SIGUSR2', () => {
  writeFileSync(process.env.LOOP_FILE, held.toFixed(1) + ' ' + longest.toFixed(1))
  held = longest = 0
})`

/** A merge request as people look at it, and one that is far too large. */
export async function reviews(bench) {
  const loop = join(bench.scratch, 'loop')
  await bench.stop()
  const options = `--import data:text/javascript;base64,${Buffer.from(MONITOR).toString('base64')}`
  await bench.start({ NODE_OPTIONS: options, LOOP_FILE: loop })
  await aPerson(bench, 'reader')
  const cookie = await signIn(bench, 'reader')
  const open = (path) => page(`${bench.url}/${path}`, cookie)
  const held = async () => {
    rmSync(loop, { force: true })
    process.kill(bench.child.pid, 'SIGUSR2')
    for (;;) {
      await setTimeout(20)
      try {
        const [all, ran] = readFileSync(loop, 'utf8').split(' ').map(Number)
        return { all, ran }
      } catch {}
    }
  }

  const usual = await aRequest(bench, 'reviewed', { files: FILES, threads: NOTES })
  const large = await aRequest(bench, 'too-large', { files: MANY_FILES, threads: MANY_THREADS })
  const larger = await aRequest(bench, 'larger', { files: MANY_MORE_FILES, threads: MANY_THREADS })
  for (const [what, path, bar] of [
    ['a merge request with 100 notes', usual, 25],
    ['its changes of 20 files', `${usual}/diffs`, 50],
  ]) {
    const times = []
    for (let i = 0; i < 60; i++) await open(path)
    const used = () => [ticks([bench.child.pid]), ticks(postgresOf(bench.dataDir))]
    const before = used()
    for (let i = 0; i < ROUNDS; i++) times.push(await timed(() => open(path)))
    bench.figure(`page of ${what}, warm`, rank(times, 0.5), bar, 'ms')
    const [own, postgres] = used().map((each, i) => ((each - before[i]) * 10) / ROUNDS)
    process.stdout.write(`  least ${Math.min(...times).toFixed(1)} ms; CPU: the service ${own.toFixed(1)} ms, Postgres ${postgres.toFixed(1)} ms\n`)
  }
  const { body } = await open(usual)
  bench.figure('the first of them, compressed', brotliCompressSync(body).length / 1024, 20, 'KiB')
  await held()
  for (const [what, path] of [
    ['a merge request with 1,000 threads', large],
    ['its changes of 1,500 files', `${large}/diffs`],
    ['the same, side by side', `${large}/diffs?view=parallel`],
    ['the same without white space', `${large}/diffs?w=1`],
    ['changes of 3,000 files', `${larger}/diffs`],
  ]) {
    const times = []
    const waits = []
    for (let i = 0; i < 12; i++) {
      await held()
      times.push(await timed(() => open(path)))
      waits.push(await held())
    }
    const part = (name, at) =>
      rank(
        waits.map((each) => each[name]),
        at,
      ).toFixed(0)
    process.stdout.write(
      `page of ${what}: ${rank(times, 0.5).toFixed(0)} ms, loop held ${part('all', 0.5)} ms, at most ${part('all', 1)}, first ${waits[0].ran}, ran ${part('ran', 0.5)}, at most ${part('ran', 1)}\n`,
    )
    bench.figure(
      `event loop, for ${what}`,
      rank(
        waits.map(({ ran }) => ran),
        0.9,
      ),
      50,
      'ms',
    )
  }
  await whileItIsPushed(bench, usual)
}

/** Each looks at the overview, the changes and the box of the merge in turn, which the script asks for. */
async function whileItIsPushed(bench, path) {
  const people = Array.from({ length: LOOKING.people }, (_, i) => `looker${i}`)
  const cookies = []
  for (const username of people) {
    await aPerson(bench, username)
    cookies.push(await signIn(bench, username))
  }
  const project = path.split('/-/')[0]
  const api = `${bench.api}/projects/${encodeURIComponent(project)}/repository/commits`
  for (const sub of ['', '/diffs', '/widget']) await page(`${bench.url}/${path}${sub}`, cookies[0])
  const times = []
  const end = performance.now() + LOOKING.for
  const looks = async (cookie, i) => {
    await setTimeout((i * LOOKING.every) / LOOKING.people)
    for (let n = i; performance.now() < end; n++) {
      const begun = performance.now()
      await page(`${bench.url}/${path}${['', '/diffs', '/widget'][n % 3]}`, cookie)
      times.push(performance.now() - begun)
      await setTimeout(Math.max(0, LOOKING.every - (performance.now() - begun)))
    }
  }
  let pushes = 0
  const push = async () => {
    while (performance.now() < end) {
      const actions = [{ action: 'update', file_path: 'src/m0/file0.ts', content: `changed ${pushes}\n` }]
      await call(api, { method: 'POST', body: { branch: 'topic', commit_message: `Push ${pushes++}`, actions } })
      await setTimeout(LOOKING.pushes)
    }
  }
  await Promise.all([push(), ...cookies.map(looks)])
  process.stdout.write(
    `  ${times.length} pages and ${pushes} pushes: median ${rank(times, 0.5).toFixed(0)} ms, 95 of 100 ${rank(times, 0.95).toFixed(0)} ms\n`,
  )
  bench.figure(`slowest page of ${LOOKING.people} people who look every 5 s, while it is pushed to`, Math.max(...times), 200, 'ms')
}

const aPerson = (bench, username) =>
  call(`${bench.api}/users`, {
    method: 'POST',
    body: { username, name: username, email: `${username}@example.com`, password: PASSWORD, skip_confirmation: true },
  })

function send(url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function page(url, cookie) {
  const answer = await send(url, { headers: { cookie, accept: 'text/html' } })
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`)
  return answer
}

async function signIn(bench, username) {
  const url = `${bench.url}/users/sign_in`
  const cookiesOf = ({ headers }) => (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]).join('; ')
  const first = await send(url, { headers: { accept: 'text/html' } })
  const token = /name="authenticity_token" value="([^"]+)"/.exec(first.body)[1]
  const body = new URLSearchParams({ authenticity_token: token, 'user[login]': username, 'user[password]': PASSWORD }).toString()
  return cookiesOf(await send(url, { method: 'POST', headers: { ...form, cookie: cookiesOf(first) }, body }))
}

/** A merge request that changes files of 40 lines, with threads on their lines; resolves with its path. */
async function aRequest(bench, name, { files, threads }) {
  const project = await bench.project(name, { visibility: 'public' })
  const blobs = []
  for (let i = 0; i < files; i++)
    for (const changed of [false, true]) {
      const lines = Array.from({ length: 40 }, (_, n) => `const line${n} = work(${i}, ${changed && n % 8 === 3 ? 'other' : 'value'}${n})\n`)
      blobs.push({ i, changed, text: lines.join('') })
    }
  const commit = (changed, mark) =>
    `commit refs/heads/${changed ? 'topic' : 'main'}\nmark :${mark}\ncommitter A <a@example.com> 0 +0000\ndata 1\nx\n${changed ? 'from :1\n' : ''}` +
    blobs
      .filter((blob) => blob.changed === changed)
      .map(({ i, text }) => `M 100644 inline src/m${i % 30}/file${i}.ts\ndata ${text.length}\n${text}\n`)
      .join('')
  const directory = join(bench.scratch, name)
  git(bench.scratch, ['init', '-q', '--bare', directory])
  git(directory, ['fast-import', '--quiet'], `${commit(false, 1)}${commit(true, 2)}`)
  await native(directory, ['push', '-q', bench.remote(`root/${name}`), 'refs/heads/*:refs/heads/*'])
  const made = await call(`${bench.api}/projects/${project.id}/merge_requests`, {
    method: 'POST',
    body: { source_branch: 'topic', target_branch: 'main', title: 'Other values', description: 'What is done, and why: see `src`.\n\n- [ ] one' },
  })
  let checked = made
  while (checked.merge_status !== 'can_be_merged') {
    await setTimeout(200)
    checked = await call(`${bench.api}/projects/${project.id}/merge_requests/${made.iid}`)
  }
  const { diff_refs: refs, iid, id } = checked
  await bench.sql(
    `insert into notes (project_id, noteable_type, noteable_id, author_id, note, type, position, path, line, line_type, excerpt, created_at, updated_at)
    select $1, 'MergeRequest', $2, 1, 'What about **line ' || i || '**? See !1 and \`work\`; it is not what I would expect of it.', 'DiffNote',
      jsonb_build_object('base_sha', $3::text, 'start_sha', $4::text, 'head_sha', $5::text, 'position_type', 'text', 'old_path', path, 'new_path', path, 'old_line', null, 'new_line', 4),
      path, 4, 'new', '@@ -1 +1 @@' || chr(10) || ' const line1 = work()' || chr(10) || ' const line2 = work()' || chr(10) || '+const line3 = work(other3)', now(), now()
    from generate_series(1, $6::integer) i, lateral (select 'src/m' || (i % $7::integer) % 30 || '/file' || i % $7::integer || '.ts' as path) p`,
    [project.id, id, refs.base_sha, refs.start_sha, refs.head_sha, threads, files],
  )
  await bench.sql('update merge_requests set user_notes_count = $2 where id = $1', [id, threads])
  await bench.sql('vacuum analyze')
  return `root/${name}/-/merge_requests/${iid}`
}
