import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runSync } from './run-sync.js'

/** A file in a commit; null deletes it. The content of a `160000` entry is an object id. */
export type TestFile = string | Buffer | null | { mode: '100644' | '100755' | '120000' | '160000'; content: string | Buffer }

export interface TestCommit {
  /** `main` by default. */
  branch?: string
  /** Indexes of earlier commits of the same call, or object ids; by default the tip of the branch. */
  parents?: (number | string)[]
  files?: Record<string, TestFile> | [string | Buffer, TestFile][]
  message?: string | Buffer
  /** Seconds since the epoch; by default a minute after the previous commit. */
  date?: number
  author?: string
}

export interface TestRepository {
  /** The folder that contains the bare repository, and is removed with it. */
  root: string
  directory: string
  /** Runs native git and returns its output as text; throws if it fails. */
  git(...args: string[]): string
  /** Runs native git with input, and returns its output as bytes. */
  gitBytes(args: string[], input?: string | Buffer): Buffer
  /** Adds commits with fast-import and returns their object ids. */
  commits(...commits: TestCommit[]): string[]
  /**
   * Adds an empty commit to a branch asynchronously, and retries if another writer was faster. The functions above
   * block this process, and with it the server, which may hold a lock that they need: while API calls are pending, only
   * this function may write.
   */
  commitBeside(branch: string): Promise<string>
  remove(): void
}

const ENV = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/** A bare repository created by native git, in a temporary directory or at the given path. */
export function aBareRepository(at?: string): TestRepository {
  const root = at ?? mkdtempSync(join(tmpdir(), 'roost-git-'))
  const directory = at ?? join(root, 'test.git')
  let clock = 1_600_000_000
  const gitBytes = (args: string[], input: string | Buffer = '') =>
    runSync('git', args, { cwd: directory, env: { ...ENV, GIT_DIR: directory }, input })
  const git = (...args: string[]) => gitBytes(args).toString('utf8')
  if (!existsSync(join(directory, 'HEAD'))) runSync('git', ['init', '-q', '--bare', '-b', 'main', directory], { env: ENV })

  const commits = (...list: TestCommit[]) => {
    const parts: (string | Buffer)[] = []
    const tips = new Map<string, string>()
    const data = (content: string | Buffer) => parts.push(`data ${Buffer.byteLength(content)}\n`, content, '\n')
    for (const [i, commit] of list.entries()) {
      const branch = `refs/heads/${commit.branch ?? 'main'}`
      clock = commit.date ?? clock + 60
      parts.push(`${commit.parents?.length === 0 ? `reset ${branch}\n` : ''}commit ${branch}\nmark :${i + 1}\n`)
      if (commit.author) parts.push(`author ${commit.author}\n`)
      parts.push(`committer Ada <ada@example.com> ${clock} +0000\n`)
      data(commit.message ?? `Commit ${i}\n`)
      const tip = tips.get(branch) ?? (existsSync(join(directory, branch)) ? `${branch}^0` : undefined)
      const parents = commit.parents?.map((parent) => (typeof parent === 'number' ? `:${parent + 1}` : parent)) ?? (tip ? [tip] : [])
      for (const [n, parent] of parents.entries()) parts.push(`${n === 0 ? 'from' : 'merge'} ${parent}\n`)
      tips.set(branch, `:${i + 1}`)
      const files = Array.isArray(commit.files) ? commit.files : Object.entries(commit.files ?? {})
      for (const [path, file] of files) {
        if (file === null) parts.push(`D ${quoted(path)}\n`)
        else {
          const { mode, content } = typeof file === 'string' || Buffer.isBuffer(file) ? { mode: '100644', content: file } : file
          if (mode === '160000') parts.push(`M 160000 ${content} ${quoted(path)}\n`)
          else {
            parts.push(`M ${mode} inline ${quoted(path)}\n`)
            data(content)
          }
        }
      }
      parts.push('\n')
    }
    const marks = join(root, 'marks')
    gitBytes(
      ['fast-import', '--quiet', '--force', '--date-format=raw-permissive', `--export-marks=${marks}`],
      Buffer.concat(parts.map((part) => Buffer.from(part))),
    )
    const oids: string[] = []
    for (const line of readFileSync(marks, 'utf8').trim().split('\n')) {
      const [mark, oid] = line.split(' ')
      oids[Number(mark?.slice(1)) - 1] = oid ?? ''
    }
    rmSync(marks)
    return oids
  }

  const commitBeside = async (branch: string) => {
    const script = `
      while :; do
        old=$(git rev-parse --verify "$1") && new=$(git commit-tree -p $old -m Beside "$old^{tree}") || exit 1
        git update-ref "refs/heads/$1" $new $old 2>/dev/null && echo $new && exit
      done`
    const { stdout } = await promisify(execFile)('sh', ['-c', script, 'sh', branch], { env: { ...ENV, GIT_DIR: directory }, timeout: 20_000 })
    return stdout.trim()
  }

  return { root, directory, git, gitBytes, commits, commitBeside, remove: () => rmSync(root, { recursive: true, force: true }) }
}

/** Quotes a path for fast-import, byte by byte. */
function quoted(path: string | Buffer) {
  const escaped = [...Buffer.from(path)].map((byte) =>
    byte > 34 && byte < 92 ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`,
  )
  return `"${escaped.join('')}"`
}
