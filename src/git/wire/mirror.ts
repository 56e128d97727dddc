import { TooLarge } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { FetchSource, PushedRef, RejectedRef } from '../types.js'
import { remoteOptions } from './fetch.js'

const MAX_REF_BYTES = 32 * 1_048_576
const MAX_REPORT_BYTES = 8 * 1_048_576
/** Refs of one push: their names are arguments. */
const REFS_AT_ONCE = 500

/** The branches and tags of a remote repository, by full name. */
export async function remoteRefs(pool: ProcessPool, directory: string, source: FetchSource, signal: AbortSignal): Promise<Map<string, string>> {
  const { args, env } = remoteOptions(source)
  const command = [...args, 'ls-remote', '--refs', '--quiet', '--', source.url, 'refs/heads/*', 'refs/tags/*']
  const { stdout, truncated } = await pool.run(directory, command, { env, signal, maxBytes: MAX_REF_BYTES })
  if (truncated) throw new TooLarge('the remote repository has too many refs')
  const lines = stdout.toString('utf8').split('\n')
  return new Map(lines.flatMap((line) => (line === '' ? [] : [[line.slice(line.indexOf('\t') + 1), line.slice(0, line.indexOf('\t'))] as const])))
}

/**
 * Moves refs of a remote repository, some hundred at a time, and returns those that it did not accept. Throws GitFault
 * when it cannot be reached.
 */
export async function pushRefs(
  pool: ProcessPool,
  directory: string,
  source: FetchSource,
  refs: PushedRef[],
  { signal, deadline }: { signal: AbortSignal; deadline: number },
): Promise<RejectedRef[]> {
  const { args, env } = remoteOptions(source)
  const rejected: RejectedRef[] = []
  for (let at = 0; at < refs.length; at += REFS_AT_ONCE) {
    const refspecs = refs.slice(at, at + REFS_AT_ONCE).map(({ name, oid, force }) => `${force ? '+' : ''}${oid ?? ''}:${name}`)
    const command = [...args, 'push', '--porcelain', '--no-signed', '--recurse-submodules=no', '--', source.url, ...refspecs]
    // 1: some refs were rejected
    const { stdout, truncated } = await pool.run(directory, command, { env, signal, deadline, accept: [1], maxBytes: MAX_REPORT_BYTES })
    if (truncated) throw new TooLarge('the answer of the remote repository is too long')
    rejected.push(...rejectedIn(stdout.toString('utf8')))
  }
  return rejected
}

/** Reads lines like `!<TAB>from:to<TAB>[remote rejected] (reason)`. */
const rejectedIn = (report: string): RejectedRef[] =>
  report.split('\n').flatMap((line) => {
    const [flag, refs = '', summary = ''] = line.split('\t')
    return flag === '!' ? [{ name: refs.slice(refs.indexOf(':') + 1), reason: summary }] : []
  })
