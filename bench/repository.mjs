import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ENV = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C', TZ: 'UTC' }

/** Runs git; throws its output if it fails. */
export function git(directory, args, input) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: directory, env: ENV, input, maxBuffer: 1 << 30 })
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`)
  return stdout
}

/** Deterministic pseudo-random numbers. */
function random(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const name = (i) => `src/m${i % 50}/p${Math.floor(i / 50) % 20}/file${i}.txt`

/** A bare repository with many commits on many files, 1 in 20 a merge; created once and cached in `folder`. */
export function generated(folder, { commits = 50_000, files = 5_000 } = {}) {
  const directory = join(folder, `${commits}x${files}.git`)
  if (existsSync(directory)) return directory
  const making = `${directory}.making`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  git(folder, ['init', '-q', '--bare', '-b', 'main', making])
  const next = random(7)
  const parts = []
  const content = (i, n) =>
    `${Array.from({ length: 20 }, (_, line) => `file ${i} line ${line} ${line === n % 20 ? `version ${n}` : 'as it was'}`).join('\n')}\n`
  let mark = 0
  const commit = (body, merge) => {
    mark++
    const date = 1_400_000_000 + mark * 600
    parts.push(
      `commit refs/heads/main\nmark :${mark}\ncommitter Ada <ada@example.com> ${date} +0000\ndata 14\nChange ${String(mark).padStart(6)}\n\n`.replace(
        'data 14',
        `data ${`Change ${String(mark).padStart(6)}\n`.length}`,
      ),
    )
    if (mark > 1) parts.push(`from :${mark - 1}\n`)
    if (merge) parts.push(`merge :${merge}\n`)
    parts.push(body)
  }
  const write = (i, n) => {
    const text = content(i, n)
    return `M 100644 inline ${name(i)}\ndata ${text.length}\n${text}\n`
  }
  commit(Array.from({ length: files }, (_, i) => write(i, 0)).join(''))
  for (let n = 1; n < commits; n++) {
    const changed = 1 + Math.floor(next() * 3)
    let body = ''
    for (let k = 0; k < changed; k++) body += write(Math.floor(next() * files), n)
    commit(body, n % 20 === 0 && mark > 10 ? mark - 5 : 0)
  }
  git(making, ['fast-import', '--quiet', '--depth=20'], parts.join(''))
  git(making, ['repack', '-adq', '--write-bitmap-index'])
  git(making, ['commit-graph', 'write', '--reachable', '--changed-paths'])
  git(making, ['pack-refs', '--all'])
  renameSync(making, directory)
  return directory
}

/** A bare repository with many packed branches, each with its own commit; created once and cached in `folder`. */
export function branched(folder, branches) {
  const directory = join(folder, `${branches}refs.git`)
  if (existsSync(directory)) return directory
  const making = `${directory}.making`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  git(folder, ['init', '-q', '--bare', '-b', 'main', making])
  const trunk = 1_000
  const commit = (ref, mark, parent) =>
    `commit ${ref}\n${mark ? `mark :${mark}\n` : ''}committer Ada <ada@example.com> ${1_500_000_000 + (mark || trunk)} +0000\ndata 7\nChange\n${parent ? `from :${parent}\n` : ''}M 100644 inline file\ndata ${ref.length + 5}\n${ref}${String(mark).padStart(5)}\n`
  const parts = []
  for (let n = 1; n <= trunk; n++) parts.push(commit('refs/heads/main', n, n - 1))
  for (let n = 0; n < branches; n++) parts.push(commit(`refs/heads/team-${n % 100}/topic-${n}`, 0, 1 + (n % trunk)))
  git(making, ['fast-import', '--quiet', '--max-pack-size=2g'], parts.join(''))
  git(making, ['repack', '-adq'])
  git(making, ['commit-graph', 'write', '--reachable'])
  git(making, ['pack-refs', '--all'])
  renameSync(making, directory)
  return directory
}

/** A bare repository with a few large incompressible files, `megabytes` in total; created once and cached. */
export function bulky(folder, megabytes = 100) {
  const directory = join(folder, `${megabytes}mb.git`)
  if (existsSync(directory)) return directory
  const making = `${directory}.making`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  git(folder, ['init', '-q', '--bare', '-b', 'main', making])
  const next = random(11)
  const parts = []
  for (let i = 0; i < megabytes; i++) {
    const bytes = Buffer.alloc(1 << 20)
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(next() * 2 ** 32), at)
    parts.push(
      Buffer.from(
        `commit refs/heads/main\nmark :${i + 1}\ncommitter Ada <ada@example.com> ${1_500_000_000 + i} +0000\ndata 5\nbulk\n${i ? `from :${i}\n` : ''}M 100644 inline f${i}.bin\ndata ${bytes.length}\n`,
      ),
      bytes,
      Buffer.from('\n'),
    )
  }
  git(making, ['fast-import', '--quiet'], Buffer.concat(parts))
  git(making, ['repack', '-adq'])
  renameSync(making, directory)
  return directory
}
