import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { bytes as body } from '../../support/bytes.js'
import { aProject, aUser } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
const bytes = (text: string) => Buffer.from(text, 'latin1')

describe('names that are not UTF-8 (RF-109)', () => {
  async function place() {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { 'README.md': 'x' } })
    bareOf(t, project).commits(
      {
        files: [
          [bytes('d\xff/a\xfe.txt'), 'first\n'],
          [bytes('d\xff/a\xfd.txt'), 'other\n'],
          [bytes('caf\xe9.txt'), 'latin\n'],
          ['café.txt', 'utf-8\n'],
          ['\u{10ffff}.txt', 'private\n'],
        ],
        message: 'Odd names',
      },
      { files: [[bytes('d\xff/a\xfe.txt'), 'first\nsecond\n']], message: 'Second line' },
    )
    const at = `${project.path}/repository`
    const get = (path: string) => t.api('get', `${at}/${path}`, owner)
    return { owner, at, get }
  }

  it('are asked for by their bytes: files, raw, blame, head, trees, commits, archives', async () => {
    const { owner, at, get } = await place()
    const text = async (name: string) => (await get(`files/${name}/raw?ref=main`).expect(200)).text
    expect([await text('caf%E9.txt'), await text('caf%C3%A9.txt'), await text('%F4%8F%BF%BF.txt')]).toEqual(['latin\n', 'utf-8\n', 'private\n'])
    expect([await text('d%FF%2Fa%FE.txt'), await text('d%ff%2fa%fd.txt')]).toEqual(['first\nsecond\n', 'other\n'])
    const file = (await get('files/d%FF%2Fa%FD.txt?ref=main').expect(200)).body
    expect(file).toMatchObject({ file_name: 'a\ufffd.txt', file_path: 'd\ufffd/a\ufffd.txt', encoded_path: 'd%FF%2Fa%FD.txt' })
    expect(Buffer.from(file.content, 'base64').toString()).toBe('other\n')
    const titles = async (path: string) =>
      (await get(`commits?path=${path}`).expect(200)).body.map(({ title, id }: { title: string; id: string }) => ({ title, id }))
    const [second, odd] = await titles('d%FF%2Fa%FE.txt')
    expect([second.title, odd.title, await titles('d%FF/a%FD.txt'), await titles('d%FF'), await titles('d%FE')]).toEqual([
      'Second line',
      'Odd names',
      [odd],
      [second, odd],
      [],
    ])
    expect(file.last_commit_id).toBe(odd.id)
    const head = await t.api('head', `${at}/files/d%FF%2Fa%FE.txt?ref=main`, owner).expect(200)
    expect([head.headers['x-gitlab-last-commit-id'], head.headers['x-gitlab-encoded-path']]).toEqual([second.id, 'd%FF%2Fa%FE.txt'])
    const blame = (await get('files/d%FF%2Fa%FE.txt/blame?ref=main').expect(200)).body
    expect(blame.map(({ commit, lines }: { commit: { id: string }; lines: string[] }) => [commit.id, lines])).toEqual([
      [odd.id, ['first']],
      [second.id, ['second']],
    ])
    const tar = (await get('archive.tar?path=d%FF%2Fa%FD.txt').buffer(true).parse(body).expect(200)).body as Buffer
    expect([tar.includes(bytes('/d\xff/a\xfd.txt')), tar.includes('other\n'), tar.includes('second')]).toEqual([true, true, false])
    await get('archive.tar?path=d%FE').expect(404)
  })

  it('are named in lists, only where they are not UTF-8, with what to ask for', async () => {
    const { owner, at, get } = await place()
    const tree = (await get('tree?ref=main').expect(200)).body as { path: string; encoded_path?: string }[]
    expect(tree.map(({ path, encoded_path }) => [path, encoded_path])).toEqual([
      ['d\ufffd', 'd%FF'],
      ['README.md', undefined],
      ['café.txt', undefined],
      ['caf\ufffd.txt', 'caf%E9.txt'],
      ['\u{10ffff}.txt', undefined],
    ])
    const below = (await get('tree?ref=main&path=d%FF').expect(200)).body as { encoded_path: string }[]
    expect(below.map(({ encoded_path }) => encoded_path)).toEqual(['d%FF%2Fa%FD.txt', 'd%FF%2Fa%FE.txt'])
    const all = (await get('tree?ref=main&recursive=true&per_page=2').expect(200)) as { body: { path: string }[]; headers: Record<string, string> }
    expect(all.body).toHaveLength(2)
    const found = (await t.api('get', at.replace('repository', 'search?scope=blobs&search=other'), owner).expect(200)).body
    expect(found).toMatchObject([{ filename: 'd\ufffd/a\ufffd.txt', encoded_path: 'd%FF%2Fa%FD.txt' }])
    const linked = await get('tree?ref=main&path=d%FF&per_page=1')
    expect(linked.headers['link']).toContain('path=d%FF&')
    const [newest] = (await get('commits').expect(200)).body
    const diffs = [
      ...(await get(`commits/${newest.id}/diff`).expect(200)).body,
      ...(await get(`compare?from=${newest.parent_ids[0]}&to=main`).expect(200)).body.diffs,
    ]
    expect(diffs).toHaveLength(2)
    for (const diff of diffs)
      expect(diff).toMatchObject({ new_path: 'd\ufffd/a\ufffd.txt', encoded_old_path: 'd%FF%2Fa%FE.txt', encoded_new_path: 'd%FF%2Fa%FE.txt' })
    expect(Object.keys((await get(`commits/${newest.parent_ids[0]}/diff`)).body.at(-1))).toEqual(
      'old_path new_path a_mode b_mode new_file renamed_file deleted_file diff'.split(' '),
    )
  })

  it('are created, changed and deleted by their bytes', async () => {
    const { owner, at, get } = await place()
    const send = (method: 'post' | 'put' | 'delete', name: string, body = {}) =>
      t.api(method, `${at}/files/${name}`, owner).send({ branch: 'main', commit_message: 'm', ...body })
    expect((await send('put', 'd%FF%2Fa%FD.txt', { content: 'new\n' }).expect(200)).body).toEqual({
      file_path: 'd\ufffd/a\ufffd.txt',
      encoded_path: 'd%FF%2Fa%FD.txt',
      branch: 'main',
    })
    await send('post', 'd%FF%2Fn%FC.txt', { content: 'made\n' }).expect(201)
    expect((await send('post', 'd%FF%2Fn%FC.txt', { content: 'made\n' }).expect(400)).body).toEqual({
      message: 'A file with this name already exists',
    })
    expect((await get('files/d%FF%2Fa%FD.txt/raw?ref=main')).text).toBe('new\n')
    expect((await get('files/d%FF%2Fn%FC.txt/raw?ref=main')).text).toBe('made\n')
    await send('delete', 'd%FF%2Fa%FE.txt').expect(204)
    await get('files/d%FF%2Fa%FE.txt?ref=main').expect(404)
    await get('files/d%FF%2Fa%FD.txt?ref=main').expect(200)
    await send('delete', 'd%FF%2Fnone%FE.txt').expect(400)
  })

  it('are bytes of paths alone, and no way around what is refused', async () => {
    const { owner, at } = await place()
    const send = (name: string) => t.api('post', `${at}/files/${name}`, owner).send({ branch: 'main', commit_message: 'm', content: 'x' })
    for (const name of ['..%2F%FF', '%FF%2F..%2Fa', '%2F%FF', '.git%2F%FF', '%FF%0A', '%FF%2F%2Fa', '%FF'.repeat(256), 'a%E2%80%8B%ED%A0%80%00'])
      expect([name, (await send(name)).status]).toEqual([name, name.includes('%00') ? 404 : 400])
    await send(`${'%FF'.repeat(255)}`).expect(201)
    const status = async (path: string) => (await t.api('get', path, owner)).status
    for (const path of [
      `${at}/branches/%FF`,
      `/projects/%FF`,
      `${at}/commits/%FF`,
      `${at}/tree?ref=%FF`,
      `${at}/tree?path=%FF%00`,
      `${at}/files/%FF%zz?ref=main`,
    ])
      expect([path, await status(path)]).toEqual([path, 400])
    const action = { action: 'create', file_path: '\udcff', content: 'x' }
    await t
      .api('post', `${at}/commits`, owner)
      .send({ branch: 'main', commit_message: 'm', actions: [action] })
      .expect(400)
  })
})
