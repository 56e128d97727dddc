// @module-tag long
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import type { Roost } from '../../testing/index.d.cts'
import { startEnvironment } from '../support/servers/started-roost.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('roost-server/test/git', () => {
  const folder = mkdtempSync(join(tmpdir(), 'git-client-'))
  let roost: Roost

  beforeAll(async () => {
    await build()
    mkdirSync(join(folder, 'node_modules'))
    mkdirSync(join(folder, 'tmp'))
    symlinkSync(root, join(folder, 'node_modules/roost-server'))
    const { startRoost } = (await import('../../testing/index.mjs')) as { startRoost: (options: object) => Promise<Roost> }
    roost = await startRoost({ env: startEnvironment() })
  })
  afterAll(async () => {
    await roost.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Runs a script in a world, with no program on PATH; resolves with what it prints, as JSON. */
  async function inSuite(world: string, script: string, name = 'suite.mjs') {
    writeFileSync(join(folder, name), script)
    const env = { PATH: join(folder, 'no-programs'), ROOST_TEST_CONTROL: roost.control, WORLD: world, TMPDIR: join(folder, 'tmp') }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, name)], { cwd: folder, env })
    return JSON.parse(stdout)
  }
  const START = `
    import { startRoost } from 'roost-server/test'
    import { clone } from 'roost-server/test/git'
    import { execFileSync } from 'node:child_process'
    import { existsSync, readFileSync } from 'node:fs'
    const roost = await startRoost({ world: process.env.WORLD })
    const api = async (method, path, body, token = roost.token) => {
      const answer = await fetch(roost.url + '/api/v4' + path, {
        method, headers: { 'private-token': token, 'content-type': 'application/json' }, body: body && JSON.stringify(body),
      })
      if (!answer.ok) throw new Error(method + ' ' + path + ': ' + answer.status)
      return answer.json()
    }
    const print = (value) => console.log(JSON.stringify(value))
  `

  it('clones a private project, commits and pushes without a git program', async () => {
    const out = await inSuite(
      'commits',
      `${START}
      let program = true
      try { execFileSync('git', ['--version']) } catch (error) { program = error.code }
      const { id } = await api('POST', '/projects', { name: 'hello', visibility: 'private', initialize_with_readme: true })
      const work = await clone(roost, 'root/hello')
      const first = await work.commit({ 'a/b.txt': 'b', 'ünï.bin': Buffer.from([0, 255]), 'README.md': null }, { message: 'Two files' })
      await work.push()
      const author = { name: 'Ann', email: 'ann@example.com', date: new Date('2030-01-01T00:00:00Z') }
      const second = await work.commit({ 'a/b.txt': 'changed' }, { message: 'On a branch', branch: 'feature', author })
      await work.push()
      const main = await api('GET', '/projects/' + id + '/repository/commits/main')
      const feature = await api('GET', '/projects/' + id + '/repository/commits/feature')
      const tree = await api('GET', '/projects/' + id + '/repository/tree?recursive=true&ref=main')
      const again = await clone(roost, 'root/hello', { branch: 'feature' })
      const text = readFileSync(again.directory + '/a/b.txt', 'utf8')
      await again.remove()
      await work.remove()
      print({ program, ids: [main.id === first, feature.id === second], title: main.title, parents: [feature.parent_ids, [first]],
        author: [feature.author_name, feature.authored_date], tree: tree.map(({ path }) => path), text, left: existsSync(work.directory) })
      `,
    )
    expect(out).toMatchObject({ program: 'ENOENT', ids: [true, true], title: 'Two files', text: 'changed', left: false })
    expect(out.parents[0]).toEqual(out.parents[1])
    expect(out.author).toEqual(['Ann', '2030-01-01T00:00:00.000Z'])
    expect(out.tree).toEqual(['a', 'a/b.txt', 'ünï.bin'])
    expect(readdirSync(join(folder, 'tmp'))).toEqual([])
  })

  it('commits to an empty project, and to another branch of it', async () => {
    const out = await inSuite(
      'empty',
      `${START}
      const { id } = await api('POST', '/projects', { name: 'empty' })
      const work = await clone(roost, 'root/empty')
      await work.commit({ one: '1' })
      await work.push()
      await work.commit({ two: '2' }, { branch: 'other' })
      await work.commit({ three: '3' }, { branch: 'main' })
      await work.push()
      const branches = await api('GET', '/projects/' + id + '/repository/branches')
      const tree = await api('GET', '/projects/' + id + '/repository/tree')
      await work.remove()
      print({ branches: branches.map(({ name }) => name), tree: tree.map(({ path }) => path) })
      `,
    )
    expect(out).toEqual({ branches: ['main'], tree: ['one', 'three'] })
  })

  it('rejects what the server refuses: a token, a push of another history, a protected branch', async () => {
    const out = await inSuite(
      'refused',
      `${START}
      const made = await roost.seed({
        users: [{ username: 'bob', tokens: ['bob-token-1234'] }],
        projects: [{ path: 'root/api', members: { bob: 'developer' }, files: { a: 'a' }, protected_branches: [{ name: 'main', push: 'maintainer' }] }],
      })
      const refusal = (promise) => promise.then(() => null, ({ code, message }) => code + ': ' + message)
      const stranger = await refusal(clone(roost, 'root/api', { token: 'unknown-1234' }))
      const bob = await clone(roost, 'root/api', { token: 'bob-token-1234' })
      await bob.commit({ b: 'b' })
      const kept = await refusal(bob.push())
      const [one, two] = [await clone(roost, 'root/api'), await clone(roost, 'root/api')]
      await one.commit({ c: 'c' })
      await one.push()
      await two.commit({ d: 'd' })
      const behind = await refusal(two.push())
      for (const each of [bob, one, two]) await each.remove()
      print({ stranger, kept, behind })
      `,
    )
    expect(out).toEqual({
      stranger: expect.stringMatching(/^HttpError: .*401/),
      kept: expect.stringMatching(/^GitPushError: [\s\S]*not allowed to push/),
      behind: expect.stringMatching(/^PushRejectedError: .*fast-forward/),
    })
    expect(readdirSync(join(folder, 'tmp'))).toEqual([])
  })

  it('is loaded by require, too, and names what it contains', async () => {
    const script = `console.log(JSON.stringify(Object.keys(require('roost-server/test/git'))))`
    expect(await inSuite('required', script, 'suite.cjs')).toEqual(['clone'])
    expect(readFileSync(join(root, 'dist/THIRD_PARTY.txt'), 'utf8')).toMatch(/^isomorphic-git \d/m)
  })
})
