import { join } from 'node:path'
import { call, native } from '../harness.mjs'
import { git } from '../repository.mjs'

/**
 * A cherry-pick onto another branch, synced, against the equivalent with plain git without a work tree: three synthetic
 * commits, their merge, the commit and the ref.
 */
export async function cherryPick(bench) {
  const { stored, base, project } = await bench.large()
  const twin = join(bench.scratch, 'picks.git')
  git(bench.scratch, ['clone', '-q', '--bare', `file://${stored}`, twin])
  const main = git(twin, ['rev-parse', 'main']).toString().trim()
  // commits that each change a line of another file, on a branch from just below the head of main
  const start = git(twin, ['rev-parse', 'main~40']).toString().trim()
  const touched = new Set(git(twin, ['diff', '--name-only', start, main]).toString().trim().split('\n'))
  const files = git(twin, ['ls-tree', '-r', '--name-only', start]).toString().trim().split('\n')
  const free = files.filter((path) => !touched.has(path)).slice(0, 2 * bench.rounds + 10)
  const side = free.map((path, i) => {
    const text = git(twin, ['show', `${start}:${path}`])
      .toString()
      .replace('line 3 ', `line 3 picked ${i} `)
    return `commit refs/heads/side\ncommitter Ada <ada@example.com> ${1_800_000_000 + i} +0000\ndata 4\npick\n${i === 0 ? `from ${start}\n` : ''}M 100644 inline ${path}\ndata ${text.length}\n${text}\n\n`
  })
  git(twin, ['fast-import', '--quiet'], side.join(''))
  git(twin, ['push', '-q', bench.remote(project.path_with_namespace), 'side'])
  const picks = git(twin, ['rev-list', '--reverse', `${start}..side`])
    .toString()
    .trim()
    .split('\n')

  let ours = 0
  const viaApi = () => call(`${base}/commits/${picks[ours++]}/cherry_pick`, { method: 'POST', body: { branch: 'main' } })
  let theirs = 0
  const env = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com', GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com' }
  const run = async (...args) => (await native(twin, ['-c', 'core.fsync=all', ...args], { env })).toString().trim()
  const viaGit = async () => {
    const pick = picks[theirs++]
    const head = await run('rev-parse', 'main')
    const root = await run('commit-tree', '-m', 'base', `${pick}^^{tree}`)
    const left = await run('commit-tree', '-m', 'ours', '-p', root, `${head}^{tree}`)
    const right = await run('commit-tree', '-m', 'theirs', '-p', root, `${pick}^{tree}`)
    const tree = await run('merge-tree', '--write-tree', left, right)
    const commit = await run('commit-tree', '-m', 'picked', '-p', head, tree)
    await run('update-ref', 'refs/heads/main', commit, head)
  }
  bench.row('cherry-pick onto 5,000 files', ...(await bench.interleaved(viaApi, viaGit)), 1.5)
}
