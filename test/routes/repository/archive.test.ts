import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { aCast, type Cast, statuses } from '../../support/cast.js'
import { aProject, aToken, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { bareOf } from '../../support/repositories.js'

// what is larger than an eighth of the room is sent as fast as it is taken
const t = testApp({ ROOST_ARCHIVE_CACHE_BYTES: '8000000' })
const NO_FILE = { message: '404 File Not Found' }
let cast: Cast
let bare: TestRepository
let head: string
let name: string
const folder = mkdtempSync(join(tmpdir(), 'roost-archive-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  bare = bareOf(t, cast.project)
  const oids = bare.commits({
    files: {
      'a.txt': 'a\n',
      'dir/b.txt': 'b\n',
      'dir/deep/c': 'c\n',
      run: { mode: '100755', content: '#!/bin/sh\n' },
      link: { mode: '120000', content: 'a.txt' },
      module: { mode: '160000', content: 'c'.repeat(40) },
      '-x': 'an option?\n',
      '*': 'a star\n',
      [`${'long/'.repeat(30)}name`]: 'long\n',
    },
  })
  head = oids[0] as string
  bare.git('branch', 'feature/one', head)
  bare.git('tag', '-a', '-m', 'x', 'v1.0', head)
  name = cast.project.fullPath.split('/').at(-1) as string
})

const at = (project: TestProject = cast.project) => `${project.path}/repository/archive`
const fetchBytes = async (path: string, caller: TestUser | null = null) => {
  const response = await t.api('get', path, caller).buffer(true).parse(bytes).expect(200)
  return { body: response.body as Buffer, headers: response.headers }
}
const listed = (archive: Buffer, tar = 'tar') => {
  const names =
    tar === 'zip'
      ? execFileSync('python3', ['-c', ZIP], { input: archive })
      : execFileSync('tar', ['-tf', '-', ...(tar === 'tar' ? [] : [tar])], { input: archive })
  return names.toString().trim().split('\n')
}
const ZIP = 'import sys,io,zipfile;print("\\n".join(zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())).namelist()))'

describe('GET /projects/:id/repository/archive', () => {
  it('a tar.gz of the default branch, byte for byte as git packs it (RE-6)', async () => {
    const { body, headers } = await fetchBytes(at())
    const prefix = `${name}-main-${head}`
    expect(headers).toMatchObject({ 'content-type': 'application/gzip', 'content-disposition': `attachment; filename="${prefix}.tar.gz"` })
    expect(body.equals(bare.gitBytes(['archive', '--format=tar.gz', `--prefix=${prefix}/`, head]))).toBe(true)
    expect(listed(body, '-z')).toContain(`${prefix}/dir/b.txt`)
    expect(listed(body, '-z').every((path) => path.startsWith(`${prefix}/`))).toBe(true)
  })

  it.each([
    ['tar.gz', 'tar.gz', 'application/gzip'],
    ['tgz', 'tar.gz', 'application/gzip'],
    ['gz', 'tar.gz', 'application/gzip'],
    ['tar', 'tar', 'application/x-tar'],
    ['zip', 'zip', 'application/zip'],
  ])('%s, as suffix and as parameter (RE-6)', async (format, kind, type) => {
    const prefix = `${name}-main-${head}`
    const native = bare.gitBytes(['archive', `--format=${kind}`, `--prefix=${prefix}/`, head])
    for (const path of [`${at()}.${format}`, `${at()}?format=${format}`, `${at()}.${format}?format=tar`]) {
      const { body, headers } = await fetchBytes(path)
      expect([headers['content-type'], headers['content-disposition']]).toEqual([type, `attachment; filename="${prefix}.${format}"`])
      // git puts a zone into a zip's times, so this process and the service share UTC
      expect(createHash('sha1').update(body).digest('hex')).toBe(createHash('sha1').update(native).digest('hex'))
    }
    if (kind === 'zip') expect(listed(native, 'zip')).toContain(`${prefix}/dir/deep/c`)
  })

  it('the same commit and prefix give the same bytes, whatever came in between (RE-6)', async () => {
    for (const format of ['tar.gz', 'zip', 'tar']) {
      const one = await fetchBytes(`${at()}.${format}?sha=v1.0`)
      bare.git('repack', '-adq')
      expect((await fetchBytes(`${at()}.${format}?sha=v1.0`)).body.equals(one.body)).toBe(true)
    }
  })

  it('bz2 kinds, where this machine has bzip2; 406 where it has not (RE-6)', async () => {
    const path = process.env['PATH']
    for (const format of ['tar.bz2', 'tbz', 'tbz2', 'tb2', 'bz2']) {
      process.env['PATH'] = join(folder, 'nothing')
      await t.api('get', `${at()}.${format}`, null).expect(406, { message: '406 Not Acceptable' })
      process.env['PATH'] = path
      const there = path?.split(':').some((one) => readable(one).includes('bzip2'))
      if (!there) continue
      const { body, headers } = await fetchBytes(`${at()}?format=${format}`)
      expect(headers['content-type']).toBe('application/x-bzip2')
      expect(headers['content-disposition']).toBe(`attachment; filename="${name}-main-${head}.${format}"`)
      expect(
        execFileSync('bzip2', ['-dc'], { input: body }).equals(bare.gitBytes(['archive', '--format=tar', `--prefix=${name}-main-${head}/`, head])),
      ).toBe(true)
    }
  })

  it('any ref, in the name with - for /; an empty one is none (RE-6)', async () => {
    const prefixes: Record<string, string> = {
      'sha=feature%2Fone': `feature-one-${head}`,
      'sha=v1.0': `v1.0-${head}`,
      [`sha=${head}`]: `${head}-${head}`,
      [`sha=${head.slice(0, 9)}`]: `${head.slice(0, 9)}-${head}`,
      'sha=HEAD': `HEAD-${head}`,
      'sha=': `main-${head}`,
    }
    for (const [query, prefix] of Object.entries(prefixes)) {
      const { body, headers } = await fetchBytes(`${at()}.tar?${query}`)
      expect(headers['content-disposition']).toBe(`attachment; filename="${name}-${prefix}.tar"`)
      expect(listed(body)[0]).toBe(`${name}-${prefix}/`)
    }
  })

  it('path is one folder or file, literally (RE-6, SEC-80)', async () => {
    const under = async (path: string) => {
      const names = listed((await fetchBytes(`${at()}.tar?path=${encodeURIComponent(path)}`)).body)
      return names.map((one) => one.split('/').slice(1).join('/')).filter((one) => one !== '' && !one.endsWith('/'))
    }
    expect(await under('dir')).toEqual(['dir/b.txt', 'dir/deep/c'])
    expect(await under('/dir/')).toEqual(['dir/b.txt', 'dir/deep/c'])
    expect(await under('dir/deep/c')).toEqual(['dir/deep/c'])
    expect(await under('*')).toEqual(['*'])
    expect(await under('-x')).toEqual(['-x'])
    expect((await under('')).length).toBe(8)
  })

  it.each([
    ['sha=none'],
    ['sha=HEAD~1'],
    ['sha=main%5E%7Btree%7D'],
    ['sha=--output%3Dx'],
    ['sha=-o'],
    ['sha=--remote%3Dx'],
    ['sha=--exec%3Dx'],
    ['sha=main..main'],
    [`sha=${'f'.repeat(40)}`],
    ['path=none'],
    ['path=..'],
    ['path=dir%2F..'],
    ['path=%3A(top)dir'],
    ['path=dir%2F*'],
    ['path=--output%3Dx'],
    ['path=a.txt%2Fx'],
    ['path=.git'],
  ])('404 for %s (RE-6, SEC-79, SEC-80, SEC-81)', async (query) => {
    for (const method of ['get', 'head'] as const) {
      const response = await t.api(method, `${at()}?${query}`, null).expect(404)
      if (method === 'get') expect(response.body).toEqual(NO_FILE)
    }
    expect(readdirSync(bare.directory)).not.toContain('x')
  })

  it('another format is refused (SEC-55)', async () => {
    const wrong = { error: 'format does not have a valid value' }
    for (const path of [`${at()}.rar`, `${at()}?format=rar`, `${at()}?format=`, `${at()}.tar.xz`, `${at()}?format=--list`])
      await t.api('get', path, null).expect(400, wrong)
  })

  it('404 for an empty repository (RE-6)', async () => {
    const project = await aProject(t.ctx)
    await t.api('get', at(project), project.creator).expect(404, NO_FILE)
  })

  it('no name of a branch breaks out of the header (SEC-70)', async () => {
    const project = await aProject(t.ctx, { name: 'plain' })
    const own = bareOf(t, project)
    const [commit] = own.commits({ files: { a: 'a' } }) as [string]
    const names = ['é"x', 'a;filename=b', "it's", '名前', '100%25', 'a%22', '"', 'a,b', '*', 'ﬀ']
    for (const branch of names.filter((one) => one !== '*')) {
      own.git('update-ref', `refs/heads/${branch}`, commit)
      const { headers, body } = await fetchBytes(`${at(project)}.tar?sha=${encodeURIComponent(branch)}`, project.creator)
      const whole = `plain-${branch}-${commit}.tar`
      const [, plain, encoded] =
        /^attachment; filename="([ !#-~]*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+))?$/.exec(headers['content-disposition'] as string) ?? []
      expect(encoded ? decodeURIComponent(encoded) : plain).toBe(whole)
      expect(execFileSync('tar', ['--quoting-style=literal', '-tf', '-'], { input: body }).toString().split('\n')[0]).toBe(
        `plain-${branch}-${commit}/`,
      )
    }
  })

  it('attributes work as in git, and start no program (SEC-85)', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const marker = join(folder, 'ran')
    const [, plain] = own.commits(
      { files: { x: 'x' } },
      {
        files: {
          '.gitattributes':
            'hidden export-ignore\nversion export-subst\n*.up filter=evil diff=evil\n*.crlf text eol=crlf\n*.id ident\nmail export-subst\n',
          '.gitmodules': `[submodule "m"]\n\tpath = m\n\turl = ext::sh -c "touch ${marker}"\n`,
          '.mailmap': 'Other Name <other@example.com> Ada <ada@example.com>\n',
          hidden: 'no\n',
          version: 'commit $Format:%H%n%G?$ by $Format:%an$\n',
          mail: '$Format:%aN$ $Format:%(describe)$\n',
          'a.up': 'a\n',
          'b.crlf': 'one\ntwo\n',
          'c.id': '$Id$\n',
          m: { mode: '160000', content: 'd'.repeat(40) },
        },
        message: 'second',
      },
    ) as [string, string]
    const signed = own
      .gitBytes(
        ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'],
        own
          .gitBytes(['cat-file', 'commit', plain])
          .toString()
          .replace('\n\n', '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n'),
      )
      .toString()
      .trim()
    const { body } = await fetchBytes(`${at(project)}.tar?sha=${plain}`, project.creator)
    const path = project.fullPath.split('/').at(-1)
    expect(body.equals(own.gitBytes(['archive', '--format=tar', `--prefix=${path}-${plain}-${plain}/`, plain]))).toBe(true)
    const file = (archive: Buffer, commit: string, one: string) =>
      execFileSync('tar', ['-xOf', '-', `${path}-${commit}-${commit}/${one}`], { input: archive }).toString()
    expect(listed(body).map((one) => one.split('/').slice(1).join('/'))).not.toContain('hidden')
    expect(file(body, plain, 'version')).toBe(`commit ${plain}\nN by Ada\n`)
    expect(file(body, plain, 'b.crlf')).toBe('one\r\ntwo\r\n')
    // a verifier on the path would be asked about a signature
    const bin = mkdtempSync(join(folder, 'bin-'))
    execFileSync('sh', ['-c', `printf '#!/bin/sh\\ntouch ${marker}\\n' > ${bin}/gpg && chmod +x ${bin}/gpg`])
    const before = process.env['PATH']
    process.env['PATH'] = `${bin}:${before}`
    const other = await fetchBytes(`${at(project)}.tar?sha=${signed}`, project.creator).finally(() => {
      process.env['PATH'] = before
    })
    expect(file(other.body, signed, 'version')).toMatch(new RegExp(`^commit ${signed}\n. by Ada\n$`))
    expect(readdirSync(folder)).not.toContain('ran')
  })

  it('HEAD has the same headers and packs nothing (W-9)', async () => {
    // a file that git would stumble over if it packed: the tree is there, its blob is not
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const tree = own
      .gitBytes(['mktree', '--missing'], `100644 blob ${'e'.repeat(40)}\tlost\n`)
      .toString()
      .trim()
    const commit = own.git('commit-tree', '-m', 'x', tree).trim()
    own.git('update-ref', 'refs/heads/main', commit)
    const path = project.fullPath.split('/').at(-1)
    for (const suffix of ['', '.zip']) {
      const { headers } = await t.api('head', `${at(project)}${suffix}`, project.creator).expect(200)
      expect(headers['content-disposition']).toBe(`attachment; filename="${path}-main-${commit}.${suffix.slice(1) || 'tar.gz'}"`)
      expect(headers['content-type']).toBe(suffix === '' ? 'application/gzip' : 'application/zip')
    }
    // and what cannot be packed is a fault before the first byte, or a torn connection: never a whole answer
    const torn = await t
      .api('get', `${at(project)}.tar`, project.creator)
      .buffer(true)
      .parse(bytes)
      .then(
        ({ status }) => status,
        () => 'torn',
      )
    expect([500, 'torn']).toContain(torn)
  })

  it('is sent as fast as it is taken, and a client that leaves ends git (SEC-143, SEC-147)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const own = bareOf(t, project)
    const random = (seed: number) => {
      const parts = [createHash('sha512').update(`${seed}`).digest()]
      while (parts.length < 60_000)
        parts.push(
          createHash('sha512')
            .update(parts.at(-1) as Buffer)
            .digest(),
        )
      return Buffer.concat(parts)
    }
    own.commits({ files: Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`f${i}`, random(i)])) })
    const running = () => processesIn(own.directory)
    const leave = async (n: number) => {
      const request = get(`${t.url}/api/v4${at(project)}.${n % 2 ? 'tar' : 'tar.gz'}`)
      request.on('error', () => {})
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      response.on('error', () => {})
      await once(response, 'readable')
      // git waits for the client: what is on the way is far less than the 19 MB there are
      await vi.waitFor(() => expect(running()).toBeGreaterThan(0), 10_000)
      request.destroy()
    }
    await Promise.all(Array.from({ length: 6 }, (_, n) => leave(n)))
    await vi.waitFor(() => expect(running()).toBe(0), 10_000)
    // no turn of the pool was lost on the way
    for (let i = 0; i < 14; i++)
      await t
        .api('get', `${at(project)}.tar?path=f0`, null)
        .buffer(true)
        .parse(bytes)
        .expect(200)
  })
})

function readable(directory: string) {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** How many `git archive` work in a repository, by the list of processes. */
function processesIn(directory: string) {
  const ids = readdirSync('/proc').filter((id) => /^\d+$/.test(id))
  return ids.filter((id) => {
    try {
      return readlinkSync(`/proc/${id}/cwd`) === directory && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('archive')
    } catch {
      return false
    }
  }).length
}

describe('permissions to download', () => {
  it.each(statuses(200))('companions 5.3: %s from a public project', async (role, status) => {
    await t.api('get', `${at()}.zip`, cast.as[role]).buffer(true).parse(bytes).expect(status)
  })

  it.each(statuses(200, { anonymous: 404, stranger: 404, guest: 403 }))('%s from a private one: %i (RE-6, G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const method of ['get', 'head'] as const)
      for (const path of [at(project), `${at(project)}.zip`]) await t.api(method, path, as[role]).buffer(true).parse(bytes).expect(status)
  })

  it('companions 3.3: a token that reads repositories opens it', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { reporter: user, files: { a: 'a' } })
    for (const [scope, status] of [
      ['read_repository', 200],
      ['read_api', 200],
      ['read_user', 403],
    ] as const)
      await t
        .api('get', `${at(project)}.tar`, { token: await aToken(t.ctx, user, [scope]) })
        .buffer(true)
        .parse(bytes)
        .expect(status)
  })

  it('a client of the network reads the same through fetch (CL-1)', async () => {
    const response = await fetch(`${t.url}/api/v4${at()}.tar`)
    expect(listed(Buffer.from(await response.arrayBuffer()))).toContain(`${name}-main-${head}/a.txt`)
  })
})
