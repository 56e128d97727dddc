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

  it('CL-2 plans, talks and keeps texts: milestones, labels, issues, notes, threads, emoji, todos, snippets, wikis', async () => {
    const [user, friend] = [await aUser(t.ctx), await aUser(t.ctx)]
    const api = new Gitlab({ host: t.url, token: user.token })
    const other = new Gitlab({ host: t.url, token: friend.token })
    const { id } = await api.Projects.create({ name: 'planned by gitbeaker', visibility: 'public' })

    const milestone = await api.ProjectMilestones.create(id, 'v1', { dueDate: '2030-01-02' })
    expect((await api.ProjectMilestones.edit(id, milestone.id, { description: 'First' })).description).toBe('First')
    const label = await api.ProjectLabels.create(id, 'bug', '#ff0000')
    expect(await api.ProjectLabels.edit(id, label.id, { newName: 'fault' })).toMatchObject({ name: 'fault' })

    const issue = await api.Issues.create(id, 'It breaks', { labels: 'fault', milestoneId: milestone.id, description: `@${friend.username}` })
    await api.Issues.create(id, 'No label')
    expect((await api.Issues.all({ projectId: id, iids: [issue.iid] })).map(({ title }) => title)).toEqual(['It breaks'])
    expect((await api.Issues.all({ projectId: id, labels: 'None' })).map(({ title }) => title)).toEqual(['No label'])
    expect(await api.Issues.edit(id, issue.iid, { title: 'It broke' })).toMatchObject({ title: 'It broke', milestone: { id: milestone.id } })
    expect(await api.ProjectMilestones.allAssignedIssues(id, milestone.id)).toHaveLength(1)

    const [todo] = await other.TodoLists.all()
    expect(todo).toMatchObject({ action_name: 'directly_addressed', state: 'pending' })
    expect(await other.TodoLists.done({ todoId: todo?.id as number })).toMatchObject({ state: 'done' })

    const note = await other.IssueNotes.create(id, issue.iid, 'I saw it, too')
    expect(await other.IssueNotes.edit(id, issue.iid, note.id, { body: 'I saw it' })).toMatchObject({ body: 'I saw it', noteable_iid: issue.iid })
    expect((await api.IssueNotes.all(id, issue.iid, { sort: 'asc' })).at(-1)).toMatchObject({ id: note.id, body: 'I saw it' })
    expect(await api.IssueNotes.show(id, issue.iid, note.id)).toMatchObject({ author: { username: friend.username } })

    const thread = await api.IssueDiscussions.create(id, issue.iid, 'What now?')
    const reply = await other.IssueDiscussions.addNote(id, issue.iid, thread.id, 'Mend it')
    expect(await other.IssueDiscussions.editNote(id, issue.iid, thread.id, reply.id, { body: 'Mend it soon' })).toMatchObject({
      body: 'Mend it soon',
    })
    expect((await api.IssueDiscussions.show(id, issue.iid, thread.id)).notes).toHaveLength(2)
    await other.IssueDiscussions.removeNote(id, issue.iid, thread.id, reply.id)
    expect((await api.IssueDiscussions.all(id, issue.iid)).at(-1)?.notes).toHaveLength(1)

    const award = await other.IssueAwardEmojis.award(id, issue.iid, 'thumbsup')
    expect((await api.Issues.show(issue.iid, { projectId: id })).upvotes).toBe(1)
    expect(await other.IssueNoteAwardEmojis.award(id, issue.iid, note.id, 'tada')).toMatchObject({ awardable_type: 'Note', name: 'tada' })
    expect(await api.IssueAwardEmojis.all(id, issue.iid)).toMatchObject([{ id: award.id, user: { username: friend.username } }])
    await other.IssueAwardEmojis.remove(id, issue.iid, award.id)
    await other.IssueNotes.remove(id, issue.iid, note.id)

    const snippet = await api.ProjectSnippets.create(id, 'A text', { visibility: 'public', files: [{ content: 'x', filePath: 'a.txt' }] })
    expect(await other.ProjectSnippetNotes.create(id, snippet.id, 'Fine')).toMatchObject({ noteable_type: 'Snippet' })
    expect(await other.ProjectSnippetDiscussions.create(id, snippet.id, 'Why?')).toMatchObject({ individual_note: false })
    expect(await other.ProjectSnippetAwardEmojis.award(id, snippet.id, 'star')).toMatchObject({ awardable_id: snippet.id })
    await api.ProjectSnippets.remove(id, snippet.id)

    expect(await api.ProjectWikis.create(id, 'Where it is\n', 'folder/A page')).toMatchObject({ slug: 'folder/A-page' })
    expect(await api.ProjectWikis.edit(id, 'folder/A-page', { title: 'folder/Other' })).toMatchObject({
      slug: 'folder/Other',
    })
    expect(await api.ProjectWikis.all(id)).toMatchObject([{ slug: 'folder/Other', format: 'markdown' }])
    await api.ProjectWikis.remove(id, 'folder/Other')
    await api.Issues.edit(id, issue.iid, { stateEvent: 'close' })
    await api.ProjectLabels.remove(id, label.id)
    await api.ProjectMilestones.remove(id, milestone.id)
    await api.Issues.remove(id, issue.iid)
  })

  it('CL-2, X-1 searches by the short paths, in every scope it knows', async () => {
    const user = await aUser(t.ctx)
    const api = new Gitlab({ host: t.url, token: user.token })
    const group = await api.Groups.create('Searched', 'searched-by-gitbeaker')
    const { id } = await api.Projects.create({ name: 'searched by gitbeaker', namespaceId: group.id })
    await api.Commits.create(id, 'main', 'Add a wombat', [{ action: 'create', filePath: 'wombat.txt', content: 'a wombat\n' }])
    const issue = await api.Issues.create(id, 'The wombat')
    await api.IssueNotes.create(id, issue.iid, 'A wombat again')
    await api.ProjectMilestones.create(id, 'until the wombat sleeps')
    await api.ProjectWikis.create(id, 'of the wombat', 'page')
    await api.Snippets.create('A wombat', { files: [{ content: 'wombat', filePath: 'wombat.rb' }], visibility: 'private' })
    expect(await api.Search.all('projects', 'searched')).toMatchObject([{ id }])
    expect(await api.Search.all('snippet_titles', 'wombat')).toMatchObject([{ title: 'A wombat', file_name: 'wombat.rb' }])
    expect(await api.Search.all('issues', 'wombat', { groupId: group.id })).toMatchObject([{ title: 'The wombat', project_id: id }])
    expect(await api.Search.all('milestones', 'wombat', { groupId: group.id })).toHaveLength(1)
    expect(await api.Search.all('merge_requests', 'wombat', { projectId: id })).toEqual([])
    expect(await api.Search.all('notes', 'wombat', { projectId: id })).toMatchObject([{ body: 'A wombat again', noteable_iid: issue.iid }])
    expect(await api.Search.all('commits', 'wombat', { projectId: id })).toMatchObject([{ title: 'Add a wombat', project_id: id }])
    expect(await api.Search.all('blobs', 'wombat', { projectId: id })).toMatchObject([{ filename: 'wombat.txt', data: 'a wombat', ref: 'main' }])
    expect(await api.Search.all('wiki_blobs', 'wombat', { projectId: id })).toMatchObject([{ basename: 'page' }])
    // follows Link to the end
    for (let i = 0; i < 3; i++) await api.Issues.create(id, `wombat ${i}`)
    expect(await api.Search.all('issues', 'wombat', { projectId: id, perPage: 1 })).toHaveLength(4)
  })
})
