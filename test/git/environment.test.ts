import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, gitClient, gitOut } from '../support/clients/git-client.js'
import { aCommit, aProject, type TestProject } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { bareOf } from '../support/repositories.js'

/** Whatever runs leaves a mark here. */
const trap = mkdtempSync(join(tmpdir(), 'roost-trap-'))
const ran = join(trap, 'ran')
const program = join(trap, 'program')
const before = { ...process.env }

/** What somebody, or a machine, may have set up around the service, all of it in git's reach. */
function setTraps() {
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat\n`)
  chmodSync(program, 0o755)
  const hooks = join(trap, 'hooks')
  mkdirSync(hooks)
  for (const name of ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction', 'proc-receive', 'post-index-change'])
    writeFileSync(join(hooks, name), `#!/bin/sh\necho ${name} >> ${ran}\nexit 1\n`, { mode: 0o755 })
  const attributes = join(trap, 'attributes')
  writeFileSync(attributes, '*.txt diff=trap filter=trap merge=trap\n')
  const config = `[core]\n\thooksPath = ${hooks}\n\tattributesFile = ${attributes}\n\tfsmonitor = ${program}\n\tpager = ${program}\n
[diff]\n\texternal = ${program}\n[diff "trap"]\n\ttextconv = ${program}\n\tcommand = ${program}\n[filter "trap"]\n\tclean = ${program}\n\tsmudge = ${program}\n\trequired = true\n
[merge "trap"]\n\tdriver = ${program} %A\n[uploadpack]\n\tpackObjectsHook = ${program}\n[receive]\n\tdenyCurrentBranch = refuse\n\tdenyNonFastForwards = true\n[transfer]\n\thideRefs = refs/heads\n
[gpg]\n\tprogram = ${program}\n[commit]\n\tgpgSign = true\n[tar "tar.gz"]\n\tcommand = ${program}\n[user]\n\tname = Trap\n\temail = trap@example.com\n`
  writeFileSync(join(trap, '.gitconfig'), config)
  mkdirSync(join(trap, 'git'))
  writeFileSync(join(trap, 'git/config'), config)
  Object.assign(process.env, {
    HOME: trap,
    XDG_CONFIG_HOME: trap,
    GIT_CONFIG_GLOBAL: join(trap, '.gitconfig'),
    GIT_CONFIG_SYSTEM: join(trap, '.gitconfig'),
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: hooks,
    GIT_CONFIG_KEY_1: 'diff.external',
    GIT_CONFIG_VALUE_1: program,
    GIT_CONFIG_PARAMETERS: `'core.hooksPath=${hooks}' 'diff.external=${program}'`,
    GIT_EXTERNAL_DIFF: program,
    GIT_ASKPASS: program,
    SSH_ASKPASS: program,
    GIT_SSH_COMMAND: program,
    GIT_PAGER: program,
    GIT_EDITOR: program,
    GIT_TEMPLATE_DIR: trap,
    GIT_DIR: '/nonexistent',
    GIT_WORK_TREE: '/nonexistent',
    GIT_INDEX_FILE: '/nonexistent/index',
    GIT_OBJECT_DIRECTORY: '/nonexistent/objects',
    GIT_ALTERNATE_OBJECT_DIRECTORIES: '/nonexistent',
    GIT_NAMESPACE: 'elsewhere',
    GIT_REPLACE_REF_BASE: 'refs/heads/',
    GIT_TRACE: ran,
    GIT_AUTHOR_NAME: 'Trap',
    GIT_COMMITTER_NAME: 'Trap',
    LANG: 'de_DE.UTF-8',
    LC_ALL: 'de_DE.UTF-8',
  })
}

setTraps()
const t = testApp()
const git = gitClient(t)
let project: TestProject

beforeAll(async () => {
  project = await aProject(t.ctx, { files: { 'a.txt': 'one\n', '.gitattributes': '*.txt diff=trap filter=trap merge=trap\n' } })
})
afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
  rmSync(trap, { recursive: true, force: true })
})

const get = async (path: string) => (await t.api('get', `${project.path}${path}`, project.creator).expect(200)).body

describe('git, in any environment of the service', () => {
  it('no configuration, hook, filter, conversion or variable of others changes what it does (SEC-84)', async () => {
    const work = await git.cloned(git.url(project.fullPath, project.creator))
    const pushed = await commitIn(work, 'b.txt', 'two\n')
    await gitOut(work, 'push', '-q', 'origin', 'main')
    expect((await get('/repository/commits/main')).id).toBe(pushed)
    const made = await aCommit(t.ctx, project, { 'c.txt': 'three\n' })
    const commit = await get(`/repository/commits/${made}`)
    expect(commit).toMatchObject({ author_name: project.creator.name, committer_name: project.creator.name, parent_ids: [pushed] })
    expect(await get(`/repository/commits/${made}/diff`)).toMatchObject([
      { new_path: 'c.txt', diff: expect.stringContaining('@@ -0,0 +1 @@\n+three\n') },
    ])
    expect((await t.api('get', `${project.path}/repository/files/a.txt/raw?ref=main`, project.creator).buffer(true)).text).toBe('one\n')
    for (const format of ['tar.gz', 'zip']) {
      const { body } = await t.api('get', `${project.path}/repository/archive.${format}`, project.creator).responseType('blob').expect(200)
      expect(body.length).toBeGreaterThan(100)
    }
    const request = await aMergeRequest(t, { project, files: { 'd.txt': 'four\n' } })
    const { body: merged } = await t.api('put', `${request.path}/merge`, project.creator).expect(200)
    expect(merged.state).toBe('merged')
    await t.ctx.git.open({ storage: 'default', id: project.id, kind: 'project' }).size()
    const again = await git.cloned(git.url(project.fullPath, project.creator))
    expect(await gitOut(again, 'ls-tree', '--name-only', 'HEAD')).toBe(['.gitattributes', 'a.txt', 'b.txt', 'c.txt', 'd.txt'].join('\n'))
    expect(existsSync(ran)).toBe(false)
  })

  it('replace refs and a configuration in the repository replace and run nothing (SEC-84)', async () => {
    const bare = bareOf(t, project)
    const [real, other] = [bare.git('rev-parse', 'main').trim(), bare.git('rev-parse', 'main~1').trim()]
    const message = (await get(`/repository/commits/${real}`)).message
    bare.git('update-ref', `refs/replace/${real}`, other)
    const hook = join(directoryOf(t, project.id), 'hooks')
    mkdirSync(hook, { recursive: true })
    for (const name of ['pre-receive', 'update', 'post-receive'])
      writeFileSync(join(hook, name), `#!/bin/sh\necho ${name} >> ${ran}\nexit 1\n`, { mode: 0o755 })
    expect(await get(`/repository/commits/${real}`)).toMatchObject({ id: real, message })
    const work = await git.cloned(git.url(project.fullPath, project.creator))
    expect(await gitOut(work, 'rev-parse', 'HEAD')).toBe(real)
    const pushed = await commitIn(work, 'e.txt')
    await gitOut(work, 'push', '-q', 'origin', 'main')
    expect(await get('/repository/commits/main')).toMatchObject({ id: pushed, parent_ids: [real] })
    expect(existsSync(ran)).toBe(false)
  })
})
