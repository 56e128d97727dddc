/** A second Roost process: commits to refs/heads/main of a repository, `count` times or until it is killed. Arguments: directory, count or `endless`. */
import { randomBytes } from 'node:crypto'
import { RefChanged } from '../../src/git/errors.js'
import { draftCommit } from '../../src/git/objects/writer.js'
import { ProcessPool } from '../../src/git/process/pool.js'
import { RefUpdates } from '../../src/git/refs/ref-updates.js'
import { ZERO } from '../../src/git/types.js'
import { nativeReader, PERSON } from './reader.js'

const [directory = '', count = 'endless'] = process.argv.slice(2)
const pool = new ProcessPool()
const refs = new RefUpdates(pool)
const readObject = nativeReader(directory)

async function commitOnce(name: string) {
  for (;;) {
    const { stdout } = await pool.run(directory, ['rev-parse', '--verify', '-q', 'refs/heads/main'], { accept: [1] })
    const head = stdout.toString().trim()
    const draft = await draftCommit(
      { directory, pool, readObject },
      {
        parents: head ? [head] : [],
        changes: [{ action: 'create', path: `${name.slice(0, 1)}/${name}`, content: count === 'endless' ? randomBytes(400_000) : Buffer.from(name) }],
        author: PERSON,
        committer: PERSON,
        message: name,
      },
    )
    if (!('commit' in draft)) throw new Error(JSON.stringify(draft))
    try {
      return await refs.update(directory, [{ ref: 'refs/heads/main', old: head || ZERO, new: draft.commit }])
    } catch (error) {
      if (!(error instanceof RefChanged)) throw error
    }
  }
}

const names = Array.from({ length: count === 'endless' ? 100_000 : Number(count) }, () => randomBytes(8).toString('hex'))
process.stdout.write('ready\n')
if (count === 'endless') for (const name of names) await commitOnce(name)
else await Promise.all(names.map(commitOnce))
refs.close()
await pool.close()
