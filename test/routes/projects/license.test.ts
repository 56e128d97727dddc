import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { licenseOfText } from '../../../src/rules/licenses.js'
import { testApp } from '../../support/app.js'
import { directoryOf } from '../../support/clients/git-client.js'
import { aCommit, aProject, aUser, type TestProject } from '../../support/factories.js'

const t = testApp()
const MIT = readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8')
const ISC = 'Copyright Ada\n\nPermission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted'

const licenseIn = async (project: TestProject, caller = project.creator) => {
  const { body } = await t.api('get', `${project.path}?license=true`, caller).expect(200)
  return { license: body.license, license_url: body.license_url }
}

describe('the licence of a project (PR-60)', () => {
  it('is shown with license=true alone, with the address of its file', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    expect(await licenseIn(project)).toEqual({ license: null, license_url: null })
    await aCommit(t.ctx, project, { COPYING: 'All mine.' })
    expect((await licenseIn(project)).license).toMatchObject({ key: 'other', name: 'Other' })
    await aCommit(t.ctx, project, { 'LICENSE.md': MIT })
    expect(await licenseIn(project)).toEqual({
      license: {
        key: 'mit',
        name: 'MIT License',
        nickname: null,
        html_url: 'https://choosealicense.com/licenses/mit/',
        source_url: 'https://opensource.org/licenses/MIT',
      },
      license_url: `http://roost.test/${project.fullPath}/-/blob/main/LICENSE.md`,
    })
    expect((await t.api('get', project.path, project.creator).expect(200)).body).not.toHaveProperty('license')
  })

  it('is shown to everybody who may read the code, and read once', async () => {
    const [stranger, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const open = await aProject(t.ctx, { visibility: 'public', files: { LICENCE: MIT } })
    expect((await t.api('get', `${open.path}?license=true`).expect(200)).body.license.key).toBe('mit')
    const closed = await aProject(t.ctx, { guest, files: { LICENCE: MIT } })
    expect(await licenseIn(closed, guest)).toEqual({ license: null, license_url: null })
    await t.api('get', `${closed.path}?license=true`, stranger).expect(404)
    // the objects are not looked at again
    const objects = join(directoryOf(t, open.id), 'objects')
    renameSync(objects, `${objects}.away`)
    expect((await licenseIn(open)).license.key).toBe('mit')
    renameSync(`${objects}.away`, objects)
  })

  it.each([
    ['agpl-3.0', 'GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007'],
    ['lgpl-3.0', 'GNU LESSER GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007'],
    ['lgpl-2.1', 'GNU LESSER GENERAL PUBLIC LICENSE\nVersion 2.1, February 1999'],
    ['gpl-3.0', '    GNU GENERAL PUBLIC LICENSE\n      Version 3, 29 June 2007'],
    ['gpl-2.0', 'GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991'],
    ['apache-2.0', '  Apache License\n  Version 2.0, January 2004'],
    ['mit', MIT],
    ['other', `${MIT}\n\nParts are under another licence: ${'blah '.repeat(600)}`],
    ['other', `${'words '.repeat(100)} see the GNU General Public License version 3`],
    ['isc', `${ISC}, provided that the above copyright notice and this permission notice appear in all copies.`],
    ['0bsd', `${ISC}.`],
    ['other', ''],
  ])('%s', (key, text) => {
    expect(licenseOfText(text).key).toBe(key)
  })
})
