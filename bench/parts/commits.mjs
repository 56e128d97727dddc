import { join } from 'node:path'
import { call, native } from '../harness.mjs'
import { git } from '../repository.mjs'

/** A commit of ten actions, synced, against fast-import and update-ref on a copy of the same repository. */
export async function commits(bench) {
  const { source, base } = await bench.large()
  const twin = join(bench.scratch, 'twin.git')
  git(bench.scratch, ['clone', '-q', '--bare', `file://${source}`, twin])
  let n = 0
  const actions = () =>
    Array.from({ length: 10 }, (_, i) => ({
      action: 'update',
      file_path: `src/m${i}/p${(n + i) % 20}/file${i + 50 * ((n + i) % 20)}.txt`,
      content: `changed ${n} ${i}\n`,
    }))
  const viaApi = () => {
    n++
    return call(`${base}/commits`, { method: 'POST', body: { branch: 'main', commit_message: `Commit ${n}`, actions: actions() } })
  }
  const viaImport = async () => {
    n++
    const tip = (await native(twin, ['rev-parse', 'main'])).toString().trim()
    const body = actions()
      .map(({ file_path, content }) => `M 100644 inline ${file_path}\ndata ${content.length}\n${content}\n`)
      .join('')
    await native(twin, ['-c', 'core.fsync=all', 'fast-import', '--quiet', '--force'], {
      input: `commit refs/bench/new\ncommitter Ada <a@example.com> ${1_800_000_000 + n} +0000\ndata 2\nx\nfrom ${tip}\n${body}\n`,
    })
    await native(twin, ['-c', 'core.fsync=all', 'update-ref', 'refs/heads/main', 'refs/bench/new', tip])
  }
  bench.row('commit of 10 actions on 5,000 files', ...(await bench.interleaved(viaApi, viaImport)), 1.5)
}
