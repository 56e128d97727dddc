import { Gitlab } from '@gitbeaker/rest'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aUser } from '../support/factories.js'

const t = testApp()

describe('@gitbeaker/rest, unmodified', () => {
  it('CL-2 creates a project, commits files, lists commits, reads a file and lists branches', async () => {
    const user = await aUser(t.ctx)
    const api = new Gitlab({ host: t.url, token: user.token })
    const project = await api.Projects.create({ name: 'walked by gitbeaker' })
    expect(project).toMatchObject({ path: 'walked-by-gitbeaker', default_branch: null, empty_repo: true })

    const commit = await api.Commits.create(project.id, 'main', 'Add two files', [
      { action: 'create', filePath: 'README.md', content: '# Hello\n' },
      { action: 'create', filePath: 'src/a b.txt', content: Buffer.from([0, 1, 2]).toString('base64'), encoding: 'base64' },
    ])
    expect(commit.title).toBe('Add two files')
    await api.RepositoryFiles.edit(project.id, 'README.md', 'main', '# Changed\n', 'Change one')

    const commits = await api.Commits.all(project.id)
    expect(commits.map(({ title }) => title)).toEqual(['Change one', 'Add two files'])
    const file = await api.RepositoryFiles.show(project.id, 'README.md', 'main')
    expect(Buffer.from(file.content, 'base64').toString()).toBe('# Changed\n')
    expect(await api.Branches.all(project.id)).toMatchObject([{ name: 'main', default: true, protected: true, merged: false }])

    await api.Branches.create(project.id, 'feature/x', 'main')
    expect(await api.Branches.show(project.id, 'feature/x')).toMatchObject({ name: 'feature/x', commit: { id: commits[0]?.id } })
    await api.Branches.remove(project.id, 'feature/x')
    const tag = await api.Tags.create(project.id, 'v1.0', 'main', { message: 'First' })
    expect(tag).toMatchObject({ name: 'v1.0', message: 'First', commit: { id: commits[0]?.id } })
  })

  it('CL-2 follows Link to the end of a list of projects', async () => {
    const user = await aUser(t.ctx)
    const api = new Gitlab({ host: t.url, token: user.token })
    for (let i = 0; i < 5; i++) await api.Projects.create({ name: `page ${i}` })
    const all = await api.Projects.all({ owned: true, perPage: 2, orderBy: 'id', sort: 'asc' })
    expect(all.map(({ name }) => name)).toEqual(['page 0', 'page 1', 'page 2', 'page 3', 'page 4'])
  })
})
