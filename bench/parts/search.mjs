import { call, median, native, TOKEN, timed } from '../harness.mjs'

const PROJECTS = 200
const ROWS = 20_000

/** Searches of rows against the same lists without a text, and of a repository of 50,000 commits against native git. */
export async function search(bench) {
  const home = await bench.project('searched')
  await seed(bench, home)
  await rowsFound(bench)
  await codeFound(bench)
  await others(bench)
}

/** Searches for a word in 1 of 50 rows, and for one of three letters in 1 of 50 others, with the cost of each page. */
async function rowsFound(bench) {
  for (const scope of ['projects', 'issues', 'merge_requests', 'milestones']) {
    const url = (text, page = 1) => `${bench.api}/search?scope=${scope}&search=${text}&page=${page}`
    const plain = () => call(url(''))
    for (const text of ['quuxly', 'zap']) {
      const found = await call(url(text))
      if (found.length !== 20) throw new Error(`${scope} with ${text} are ${found.length}`)
      bench.row(`${scope} with ${text}, against all of them`, ...(await bench.interleaved(() => call(url(text)), plain)), 3)
    }
    const last = Math.ceil(Number((await total(url('quuxly'))) / 20))
    bench.row(
      `${scope} with quuxly, page ${last} against page 1`,
      ...(await bench.interleaved(
        () => call(url('quuxly', last)),
        () => call(url('quuxly')),
      )),
      2,
    )
  }
}

const total = async (url) => (await fetch(url, { headers: { 'private-token': TOKEN } })).headers.get('x-total')

/** Each search text is used once, as results are cached; native git searches for the same. */
async function codeFound(bench) {
  const { project, stored } = await bench.large()
  const url = (scope, text) => `${bench.api}/projects/${project.id}/search?scope=${scope}&search=${encodeURIComponent(text)}`
  const LETTERS = { LC_ALL: 'C.UTF-8' }
  let n = 0
  const texts = () => `file 49${String(n % 90).padStart(2, '0')} line ${n % 20}`
  // git exits with 1 if it finds nothing
  const grep = (text) => native(stored, ['grep', '-n', '-F', '-i', '-I', '-C2', '-e', text, 'main'], { env: LETTERS })
  const theirs = []
  const first = []
  const again = []
  for (let i = 0; i < bench.rounds; i++) {
    n++
    theirs.push(await timed(() => grep(texts())))
    first.push(await timed(() => call(url('blobs', texts()))))
    again.push(await timed(() => call(url('blobs', texts()))))
  }
  bench.row('blobs, first answer against git grep', median(first), median(theirs), 1.3)
  bench.row('blobs, first answer against the same once more', median(first), median(again), 20, { atLeast: true })
  bench.row(
    'commits, first answer against git log --grep',
    ...(await bench.interleaved(
      () => call(url('commits', `Change  ${10_000 + n++}`)),
      () => native(stored, ['log', '-F', '-i', `--grep=Change  ${10_000 + n}`, '--max-count=1000', '--format=%H', 'main'], { env: LETTERS }),
    )),
    1.3,
  )
}

/** Lists of merge requests while ten users run uncached searches in a large repository. */
async function others(bench) {
  const { project } = await bench.large()
  const list = `${bench.api}/merge_requests?scope=all`
  const alone = []
  const beside = []
  for (let round = 0; round < 3; round++) {
    alone.push(await bench.throughput(list, 4))
    let going = true
    let n = round * 1_000_000
    const searcher = async () => {
      // a 503 is expected: retry after a moment
      while (going) {
        const answer = await fetch(`${bench.api}/projects/${project.id}/search?scope=blobs&search=unknown%20${n++}`, {
          headers: { 'private-token': TOKEN },
        })
        await answer.text()
        if (answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    }
    const searchers = Array.from({ length: 10 }, searcher)
    beside.push(await bench.throughput(list, 4))
    going = false
    await Promise.all(searchers)
  }
  bench.row('merge requests listed beside ten who search, against alone', median(beside), median(alone), 0.8, { unit: '/s', atLeast: true })
}

async function seed(bench, { id, namespace }) {
  const user = 1
  const text = (what) => `${what} ' || i || case when i % 50 = 0 then ' quuxly' when i % 50 = 1 then ' zap' else '' end`
  await bench.sql(
    `insert into projects (namespace_id, creator_id, name, path, description, visibility, storage, default_branch)
    select $1, $2, 'looked at ' || i, 'looked-at-' || i, '${text('Number')}, 20, 'default', 'main' from generate_series(1, $3::integer) i`,
    [namespace.id, user, ROWS / 4],
  )
  const places = `places as (select id, row_number() over (order by id) as n from projects where path like 'looked-at-%' and id <> ${id})`
  const place = `(select id from places where n = 1 + i % ${PROJECTS}) as project_id`
  await bench.sql(
    `with ${places} insert into milestones (project_id, iid, title, description, created_at, updated_at)
    select project_id, i, title, '', at, at from (select i, ${place}, '${text('v')} as title, now() - (i * 7919 % 100000) * interval '1 minute' as at
      from generate_series(1, ${ROWS}) i) m`,
  )
  await bench.sql(
    `with ${places} insert into issues (project_id, iid, title, description, author_id, created_at, updated_at)
    select project_id, i, title, repeat('What is to be done about it. ', 10), ${user}, at, at
    from (select i, ${place}, '${text('Issue')} as title, now() - (i * 7919 % 100000) * interval '1 minute' as at from generate_series(1, ${ROWS}) i) m`,
  )
  await bench.sql(
    `with ${places} insert into merge_requests (project_id, source_project_id, original_source_project_id, iid, source_branch, target_branch, title,
      description, merge_status, links_due, author_id, created_at, updated_at)
    select project_id, project_id, project_id, i, 'branch-' || i, 'main', title, repeat('What is changed by it. ', 10), 'can_be_merged', false, ${user}, at, at
    from (select i, ${place}, '${text('Request')} as title, now() - (i * 7919 % 100000) * interval '1 minute' as at from generate_series(1, ${ROWS}) i) m`,
  )
  await bench.sql('vacuum analyze')
}
