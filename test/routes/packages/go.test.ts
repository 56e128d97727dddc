import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import yauzl from 'yauzl'
import { testApp } from '../../support/app.js'
import { runProgram } from '../../support/command.js'
import { aCommit, aProject, aUser, type TestProject } from '../../support/factories.js'
import { basic, registryOf } from './packages.js'

const t = testApp()
const { send, deployToken } = registryOf(t)
const hasGo = spawnSync('go', ['version']).status === 0

const hostOf = () => new URL(t.ctx.links.base).hostname
const moduleOf = ({ fullPath }: TestProject, more = '') => `${hostOf()}/${fullPath}${more}`
const proxyOf = ({ path }: TestProject) => `${path}/packages/go`
const get = (project: TestProject, module: string, at: string, who: Parameters<typeof send>[2] = project.creator) =>
  send('get', `${proxyOf(project)}/${module}/@v/${at}`, who)
const tag = async (project: TestProject, name: string, ref = 'main') =>
  void (await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: name, ref }).expect(201))

const namesIn = (bytes: Buffer) =>
  new Promise<string[]>((resolve, reject) =>
    yauzl.fromBuffer(bytes, {}, (error, zip) => {
      if (error) return reject(error)
      const names: string[] = []
      zip.on('entry', ({ fileName }: yauzl.Entry) => names.push(fileName)).on('end', () => resolve(names.sort()))
    }),
  )

describe('a module of Go', () => {
  it('has the versions that tags name, each with its description and files (PK-50, PK-51)', async () => {
    const project = await aProject(t.ctx, {
      files: {
        'main.go': 'package it\n',
        LICENSE: 'free\n',
        'vendor/modules.txt': '# x\n',
        'vendor/example.com/x/x.go': 'package x\n',
        'sub/go.mod': 'module elsewhere\n',
        'sub/sub.go': 'package sub\n',
        'pkg/p.go': 'package pkg\n',
      },
    })
    const module = moduleOf(project)
    await get(project, module, 'list').expect(200, '')
    for (const name of ['v0.1.0', 'v1.0.0-rc.1', 'v2.0.0', '1.0.0', 'sub/v0.1.0']) await tag(project, name)
    await aCommit(t.ctx, project, { 'go.mod': `module ${module}\n\ngo 1.24\n` })
    await tag(project, 'v1.1.0')
    expect((await get(project, module, 'list').expect(200)).text.trim().split('\n').sort()).toEqual(['v0.1.0', 'v1.0.0-rc.1', 'v1.1.0'])
    const [commit] = (await t.api('get', `${project.path}/repository/commits`, project.creator).expect(200)).body
    const info = await get(project, module, 'v1.1.0.info').expect(200)
    expect(info.body).toEqual({ Version: 'v1.1.0', Time: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(Date.parse(info.body.Time)).toBe(Math.floor(Date.parse(commit.committed_date) / 1_000) * 1_000)
    await get(project, module, 'v0.1.0.mod').expect(200, `module ${module}\n`)
    await get(project, module, 'v1.1.0.mod').expect(200, `module ${module}\n\ngo 1.24\n`)
    const files = async (version: string) =>
      (await namesIn((await get(project, module, `${version}.zip`).responseType('blob').expect(200)).body)).map((name) =>
        name.replace(`${module}@${version}/`, ''),
      )
    expect(await files('v0.1.0')).toEqual(['LICENSE', 'main.go', 'pkg/p.go', 'vendor/modules.txt'])
    expect(await files('v1.1.0')).toEqual(['LICENSE', 'go.mod', 'main.go', 'pkg/p.go'])
    for (const at of ['v2.0.0.info', 'v9.9.9.info', '1.0.0.info', 'main.info', 'v1.1.0.exe']) await get(project, module, at).expect(404)
    await get(project, `${hostOf()}/other/project`, 'list').expect(404)
    await get(project, `${module}x`, 'list').expect(404)
  })

  it('may be in a folder, and of version 2 (PK-50)', async () => {
    const project = await aProject(t.ctx)
    const [one, two] = [moduleOf(project, '/sub'), moduleOf(project, '/sub/v2')]
    await aCommit(t.ctx, project, { LICENSE: 'free\n', 'sub/go.mod': `module ${one}\n`, 'sub/a.go': 'package sub\n' })
    await tag(project, 'sub/v1.0.0')
    await aCommit(t.ctx, project, { 'sub/v2/go.mod': `module ${two}\n`, 'sub/v2/a.go': 'package sub\n' })
    await tag(project, 'sub/v2.0.0')
    await get(project, one, 'list').expect(200, 'v1.0.0\n')
    await get(project, two, 'list').expect(200, 'v2.0.0\n')
    await get(project, two, 'v2.0.0.mod').expect(200, `module ${two}\n`)
    const zip = await get(project, two, 'v2.0.0.zip').responseType('blob').expect(200)
    expect(await namesIn(zip.body)).toEqual(['LICENSE', 'a.go', 'go.mod'].map((name) => `${two}@v2.0.0/${name}`))
    await tag(project, 'v1.0.0')
    await get(project, moduleOf(project, '/none'), 'v1.0.0.mod').expect(404)
  })

  it('is for those who may read the code (PK-2, PK-50)', async () => {
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { guest, reporter, files: { 'a.go': 'package a\n' } })
    const module = moduleOf(project)
    await get(project, module, 'list', reporter).expect(200)
    await get(project, module, 'list', guest).expect(403)
    await get(project, module, 'list', await aUser(t.ctx)).expect(404)
    await get(project, module, 'list', {}).expect(401)
    const both = await deployToken(project, ['read_repository', 'read_package_registry'])
    const alone = await deployToken(project, ['read_package_registry'])
    await get(project, module, 'list', basic(both.username, both.token)).expect(200)
    await get(project, module, 'list', basic(alone.username, alone.token)).expect(403)
  })
})

describe.skipIf(!hasGo)('go itself', () => {
  it('downloads a module, whose checksum is that of its files (PK-51)', { timeout: 120_000 }, async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const module = moduleOf(project)
    const files = {
      'go.mod': `module ${module}\n\ngo 1.20\n`,
      'it.go': 'package it\n\nconst Answer = 42\n',
      'vendor/modules.txt': '# x\n',
      'vendor/x/x.go': 'package x\n',
      'a/vendor/y.go': 'package y\n',
      'below/go.mod': 'module below\n',
    }
    await aCommit(t.ctx, project, files)
    await tag(project, 'v1.2.0')
    const home = await mkdtemp(join(t.dataDir, 'go-'))
    await writeFile(join(home, 'go.mod'), 'module user\n\ngo 1.20\n')
    const env = { HOME: home, GOPATH: join(home, 'path'), GOFLAGS: '-modcacherw', GOSUMDB: 'off', GOTOOLCHAIN: 'local' }
    const ended = await runProgram('go', ['mod', 'download', '-json', `${module}@v1.2.0`], {
      cwd: home,
      env: { ...env, GOPROXY: `${t.url}/api/v4${proxyOf(project)}` },
    })
    expect(ended).toMatchObject({ code: 0 })
    // the checksum that go.sum has: of the names and digests of what belongs to the module
    const sha256 = (text: string, as: 'hex' | 'base64' = 'hex') => createHash('sha256').update(text).digest(as)
    const belongs = ['go.mod', 'it.go', 'vendor/modules.txt'] as const
    const lines = belongs.map((name) => `${sha256(files[name])}  ${module}@v1.2.0/${name}\n`)
    expect(JSON.parse(ended.stdout).Sum).toBe(`h1:${sha256(lines.join(''), 'base64')}`)
  })
})
