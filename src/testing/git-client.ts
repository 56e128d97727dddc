import fs from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import git from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import type { Clone, CommitOptions, clone as cloneProject } from '../../testing/git.d.cts'

type Author = NonNullable<CommitOptions['author']>

const EMPTY_PROJECT_BRANCH = 'main'
const AUTHOR: Author = { name: 'Test', email: 'test@example.com' }

/** `roost-server/test/git`: see testing/git.d.cts. Bundled by itself, for test suites that have no git program. */
export const clone: typeof cloneProject = async (roost, project, { branch, token = roost.token, directory } = {}) => {
  const dir = directory ?? (await mkdtemp(join(tmpdir(), 'roost-clone-')))
  const remove = async () => {
    if (directory === undefined) await rm(dir, { recursive: true, force: true })
  }
  const cache = {}
  const repository = { fs, dir, cache }
  const remote = { http, onAuth: () => ({ username: 'git', password: token }) }

  const current = async () => (await git.currentBranch(repository)) as string
  const switchTo = async (name: string) => {
    const branches = await git.listBranches(repository)
    if (branches.includes(name)) await git.checkout({ ...repository, ref: name })
    else if (branches.length > 0) await git.branch({ ...repository, ref: name, checkout: true })
    else await git.writeRef({ ...repository, ref: 'HEAD', value: `refs/heads/${name}`, symbolic: true, force: true })
  }
  const stage = async (path: string, content: string | Uint8Array | null) => {
    if (content === null) {
      await git.remove({ ...repository, filepath: path })
      return rm(join(dir, path))
    }
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), content)
    await git.add({ ...repository, filepath: path })
  }
  const commit: Clone['commit'] = async (files, { message = 'Change files', branch: target, author = AUTHOR } = {}) => {
    if (target !== undefined && target !== (await current())) await switchTo(target)
    for (const [path, content] of Object.entries(files)) await stage(path, content)
    const { date = new Date(), ...person }: Author = author
    return git.commit({ ...repository, message, author: { ...person, timestamp: Math.floor(date.getTime() / 1000), timezoneOffset: 0 } })
  }
  const push: Clone['push'] = async ({ force = false } = {}) => {
    let reason = ''
    const onMessage = (text: string) => {
      reason += text
    }
    await git.push({ ...repository, ...remote, ref: await current(), force, onMessage }).catch((error: Error) => {
      // what the server says is not part of the error
      error.message += reason && `\n${reason}`
      throw error
    })
  }

  try {
    await git.clone({ ...repository, ...remote, url: `${roost.url}/${project}.git`, ...(branch !== undefined && { ref: branch }) })
    if ((await git.listBranches(repository)).length === 0) await switchTo(branch ?? EMPTY_PROJECT_BRANCH)
  } catch (error) {
    await remove()
    throw error
  }
  return { directory: dir, commit, push, remove, [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: remove } as Clone
}
