// @module-tag long
import { Gitlab } from '@gitbeaker/rest'
import { describe, expect, it } from 'vitest'
import { startedRoost } from '../support/servers/started-roost.js'

const t = startedRoost()

describe('@gitbeaker/rest, unmodified', () => {
  it('creates a project, commits files, lists commits, reads a file and lists branches (CL-2)', async () => {
    const user = await t.user()
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

  it('follows Link to the end of a list of projects (CL-2)', async () => {
    const user = await t.user()
    const api = new Gitlab({ host: t.url, token: user.token })
    for (let i = 0; i < 5; i++) await api.Projects.create({ name: `page ${i}` })
    const all = await api.Projects.all({ owned: true, perPage: 2, orderBy: 'id', sort: 'asc' })
    expect(all.map(({ name }) => name)).toEqual(['page 0', 'page 1', 'page 2', 'page 3', 'page 4'])
  })

  it('plans, talks and keeps texts: milestones, labels, issues, notes, threads, emoji, todos, snippets, wikis (CL-2)', async () => {
    const [user, friend] = [await t.user(), await t.user()]
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

  it('lives a merge request from its branch to the issue it closes (CL-2)', async () => {
    const [user, friend] = [await t.user(), await t.user()]
    const [api, other] = [new Gitlab({ host: t.url, token: user.token }), new Gitlab({ host: t.url, token: friend.token })]
    const { id } = await api.Projects.create({ name: 'merged by gitbeaker', visibility: 'public' })
    await api.ProjectMembers.add(id, 30, { userId: friend.id })
    await api.Commits.create(id, 'main', 'First', [{ action: 'create', filePath: 'a.txt', content: 'one\n' }])
    const issue = await api.Issues.create(id, 'It breaks')
    await api.Branches.create(id, 'mend', 'main')
    const head = await api.Commits.create(id, 'mend', 'Mend', [{ action: 'update', filePath: 'a.txt', content: 'one\ntwo\n' }])

    const request = await api.MergeRequests.create(id, 'mend', 'main', 'Mend it', {
      description: `Closes #${issue.iid}`,
      assigneeId: friend.id,
      labels: 'bug',
      removeSourceBranch: true,
    })
    const { iid } = request
    expect(request).toMatchObject({ state: 'opened', sha: head.id, labels: ['bug'], assignee: { id: friend.id } })
    expect(await api.MergeRequests.all({ projectId: id, state: 'opened', sourceBranch: 'mend' })).toMatchObject([{ iid }])
    expect(await other.TodoLists.all()).toMatchObject([{ action_name: 'assigned', target_type: 'MergeRequest', target: { iid } }])
    expect(await api.MergeRequests.allCommits(id, iid)).toMatchObject([{ id: head.id }])
    expect((await api.MergeRequests.showChanges(id, iid)).changes).toMatchObject([{ new_path: 'a.txt' }])
    expect(await api.MergeRequests.allDiffs(id, iid)).toMatchObject([{ new_path: 'a.txt' }])
    const [version] = await api.MergeRequests.allDiffVersions(id, iid)
    expect(await api.MergeRequests.showDiffVersion(id, iid, version?.id as number)).toMatchObject({ head_commit_sha: head.id })
    expect(await api.MergeRequests.allParticipants(id, iid)).toHaveLength(2)

    const note = await other.MergeRequestNotes.create(id, iid, 'I look at it')
    expect(await other.MergeRequestNotes.edit(id, iid, note.id, { body: 'I looked' })).toMatchObject({ body: 'I looked', noteable_iid: iid })
    const { diff_refs } = await api.MergeRequests.show(id, iid)
    const thread = await other.MergeRequestDiscussions.create(id, iid, 'Two of what?', {
      position: {
        baseSha: diff_refs.base_sha,
        startSha: diff_refs.start_sha,
        headSha: diff_refs.head_sha,
        positionType: 'text',
        oldPath: 'a.txt',
        newPath: 'a.txt',
        newLine: '2',
      },
    })
    expect(thread.notes).toMatchObject([{ type: 'DiffNote', resolvable: true, resolved: false, position: { new_path: 'a.txt', new_line: 2 } }])
    const reply = await api.MergeRequestDiscussions.addNote(id, iid, thread.id, 'Of lines')
    expect(reply).toMatchObject({ body: 'Of lines' })
    expect(await api.MergeRequests.show(id, iid)).toMatchObject({ blocking_discussions_resolved: true, user_notes_count: 3 })
    expect((await api.MergeRequestDiscussions.resolve(id, iid, thread.id, true)).notes).toMatchObject([{ resolved: true }, { resolved: true }])
    await api.MergeRequestDiscussions.removeNote(id, iid, thread.id, reply.id)

    const award = await other.MergeRequestAwardEmojis.award(id, iid, 'thumbsup')
    expect((await api.MergeRequests.show(id, iid)).upvotes).toBe(1)
    await other.MergeRequestAwardEmojis.remove(id, iid, award.id)
    expect(await api.MergeRequests.setTimeEstimate(id, iid, '3h')).toMatchObject({ time_estimate: 10_800 })
    expect(await api.MergeRequests.addSpentTime(id, iid, '30m')).toMatchObject({ total_time_spent: 1_800, human_total_time_spent: '30m' })
    expect(await api.MergeRequests.showTimeStats(id, iid)).toMatchObject({ human_time_estimate: '3h' })
    await api.MergeRequests.resetSpentTime(id, iid)
    await api.MergeRequests.resetTimeEstimate(id, iid)
    expect(await api.MergeRequests.createTodo(id, iid)).toMatchObject({ action_name: 'marked', target: { iid } })
    expect(await api.MergeRequests.unsubscribe(id, iid)).toMatchObject({ subscribed: false })
    expect(await api.MergeRequests.subscribe(id, iid)).toMatchObject({ subscribed: true })

    expect(await api.MergeRequests.edit(id, iid, { stateEvent: 'close' })).toMatchObject({ state: 'closed', closed_by: { id: user.id } })
    await expect(api.MergeRequests.merge(id, iid)).rejects.toThrow()
    expect(await api.MergeRequests.edit(id, iid, { stateEvent: 'reopen', title: 'Mend it well' })).toMatchObject({ state: 'opened' })
    expect(await api.MergeRequests.allIssuesClosed(id, iid)).toMatchObject([{ iid: issue.iid, state: 'opened' }])
    expect(await api.Issues.allClosedByMergeRequestst(id, issue.iid)).toMatchObject([{ iid, state: 'opened' }])
    expect(await api.MergeRequests.merge(id, iid, { sha: head.id })).toMatchObject({ state: 'merged', merged_by: { id: user.id } })
    await expect(api.MergeRequests.merge(id, iid)).rejects.toThrow()
    await expect(api.Branches.show(id, 'mend')).rejects.toThrow()

    expect(await api.Issues.show(issue.iid, { projectId: id })).toMatchObject({ state: 'closed', closed_by: { id: user.id } })
    expect(await api.Issues.allRelatedMergeRequests(id, issue.iid)).toMatchObject([{ iid }])
    const said = (await api.IssueNotes.all(id, issue.iid, { sort: 'asc' })).map(({ body }) => body)
    expect(said).toEqual(expect.arrayContaining([`mentioned in merge request !${iid}`, expect.stringMatching(/^closed/)]))
    const texts = (await api.MergeRequestNotes.all(id, iid, { sort: 'asc' })).filter(({ system }) => system).map(({ body }) => body)
    expect(texts).toEqual(expect.arrayContaining(['resolved all threads', 'changed the title', 'closed', 'reopened', 'merged']))
    await api.MergeRequests.remove(id, iid)
  })

  it('lives a merge request from a fork (CL-2)', async () => {
    const [user, owner] = [await t.user(), await t.user()]
    const [api, theirs] = [new Gitlab({ host: t.url, token: user.token }), new Gitlab({ host: t.url, token: owner.token })]
    const { id } = await theirs.Projects.create({ name: 'forked by gitbeaker', visibility: 'public' })
    await theirs.Commits.create(id, 'main', 'First', [{ action: 'create', filePath: 'a.txt', content: 'one\n' }])
    const issue = await theirs.Issues.create(id, 'It breaks')
    const fork = await api.Projects.fork(id)
    expect(fork).toMatchObject({ forked_from_project: { id } })
    const head = await api.Commits.create(fork.id, 'mend', 'Mend', [{ action: 'create', filePath: 'b.txt', content: 'b' }], { startBranch: 'main' })
    const request = await api.MergeRequests.create(fork.id, 'mend', 'main', `Fixes #${issue.iid}`, { targetProjectId: id, allowCollaboration: true })
    expect(request).toMatchObject({ project_id: id, source_project_id: fork.id, target_project_id: id, sha: head.id, allow_collaboration: true })
    const { iid } = request
    expect(await theirs.MergeRequestNotes.create(id, iid, 'More, please')).toMatchObject({ author: { id: owner.id } })
    const more = await api.Commits.create(fork.id, 'mend', 'More', [{ action: 'create', filePath: 'c.txt', content: 'c' }])
    expect(await theirs.MergeRequests.show(id, iid)).toMatchObject({ sha: more.id })
    expect(await theirs.MergeRequests.allDiffVersions(id, iid)).toHaveLength(2)
    // who proposed it may change and close it, but not merge it
    expect(await api.MergeRequests.edit(id, iid, { description: 'Both of them' })).toMatchObject({ description: 'Both of them' })
    await expect(api.MergeRequests.merge(id, iid)).rejects.toThrow()
    expect(await theirs.MergeRequests.merge(id, iid, { shouldRemoveSourceBranch: true })).toMatchObject({ state: 'merged' })
    expect((await theirs.Issues.show(issue.iid, { projectId: id })).state).toBe('closed')
    expect(await theirs.RepositoryFiles.show(id, 'c.txt', 'main')).toMatchObject({ last_commit_id: more.id })
    // the owner of the target has no right on the fork (SEC-108)
    expect(await api.Branches.show(fork.id, 'mend')).toMatchObject({ commit: { id: more.id } })
  })

  it('searches by the short paths, in every scope it knows (CL-2, X-1)', async () => {
    const user = await t.user()
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
