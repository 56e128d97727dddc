import { beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../src/routes/graphql/engine.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'
import { aFullProject, type FullProject } from '../../support/full-project.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { askOf, type Found } from './ask.js'
import { backstage, gitlens, glab, python, vscode } from './recorded.js'

const t = testApp()
const { data } = askOf(t)

let keeper: TestUser
let mate: TestUser
let full: FullProject
let fullPath: string
/** The project and its first merge request and issue, as the REST API shows them. */
let project: Found
let request: Found
let issue: Found

beforeAll(async () => {
  keeper = await anAdmin(t.ctx, { public_email: '' })
  mate = await aUser(t.ctx)
  full = await aFullProject(t, keeper, mate)
  fullPath = full.project.fullPath
  await t
    .api('put', `${full.project.path}/merge_requests/1`, keeper)
    .send({ labels: 'one', reviewer_ids: [mate.id], assignee_id: keeper.id })
    .expect(200)
  await t
    .api('put', `${full.project.path}/issues/1`, keeper)
    .send({ assignee_ids: [mate.id] })
    .expect(200)
  await t.ctx.jobs.drain()
  const rest = async (path: string) => (await t.api('get', `${full.project.path}${path}`, keeper).expect(200)).body
  project = await rest('')
  request = await rest('/merge_requests/1')
  issue = await rest('/issues/1')
})

const shownUser = (user: Found) => ({ id: `gid://gitlab/User/${user.id}`, name: user.name, username: user.username, webUrl: user.web_url })

describe('queries of GitLens (GQL-40)', () => {
  it('finds the user, other users and the members of a project', async () => {
    expect((await data(gitlens.currentUser, mate)).currentUser).toEqual({
      ...shownUser({ ...mate, web_url: `http://roost.test/${mate.username}` }),
      publicEmail: null,
      avatarUrl: expect.stringContaining('/identicon.svg'),
    })
    const found = await data(gitlens.findUser, mate, { search: mate.username })
    expect(found.users.nodes).toMatchObject([{ username: mate.username, state: 'active' }])
    expect((await data(gitlens.accountForUsername, keeper, { username: mate.username })).user.username).toBe(mate.username)
    expect((await data(gitlens.accountForUsername, keeper, { username: 'no-such-user' })).user).toBeNull()
    const { projectMembers } = (await data(gitlens.accountsForRepo, keeper, { fullPath })).project
    expect(projectMembers.nodes.map(({ user }: Found) => user.username)).toEqual([keeper.username, mate.username])
    expect(projectMembers.pageInfo).toEqual({ endCursor: expect.any(String), hasNextPage: false })
  })

  it('shows projects with what the caller may do', async () => {
    const shown = {
      id: `gid://gitlab/Project/${project.id}`,
      fullPath,
      webUrl: project.web_url,
      httpUrlToRepo: project.http_url_to_repo,
      sshUrlToRepo: project.ssh_url_to_repo,
      repository: { rootRef: 'main' },
      userPermissions: { adminOperations: false, downloadCode: true, pushCode: true },
    }
    const both = await data(gitlens.repositories, mate, { one: fullPath.toUpperCase(), two: 'no/such' })
    expect(both).toEqual({ getRepo_0: shown, getRepo_1: null })
    expect((await data(gitlens.repositoriesOfUser, mate)).projects.nodes).toEqual([shown])
    expect((await data(gitlens.projectId, mate, { fullPath })).project.id).toBe(shown.id)
    expect((await data(gitlens.defaultBranch, mate, { fullPath })).project.repository.rootRef).toBe('main')
  })

  it('shows the merge request and the issue of a number, as REST does', async () => {
    const found = (await data(gitlens.issueOrMergeRequest, mate, { fullPath, iid: '1' })).project
    expect(found.mergeRequest).toMatchObject({
      iid: '1',
      title: request.title,
      state: 'opened',
      createdAt: request.created_at,
      webUrl: request.web_url,
    })
    expect(found.issue).toMatchObject({ iid: '1', title: issue.title, description: issue.description, closedAt: null, webUrl: issue.web_url })
    const single = (await data(gitlens.mergeRequest, mate, { fullPath, iid: '1' })).project.mergeRequest
    expect(single).toMatchObject({
      id: `gid://gitlab/MergeRequest/${request.id}`,
      author: { id: `gid://gitlab/User/${keeper.id}` },
      diffRefs: { baseSha: request.diff_refs.base_sha, headSha: request.diff_refs.head_sha },
      targetBranch: 'main',
      sourceBranch: 'topic',
      project: { fullPath },
      sourceProject: { fullPath },
    })
    const other = (await t.api('get', `${full.project.path}/merge_requests/2`, keeper).expect(200)).body
    const both = await data(gitlens.mergeRequests, mate, {
      id_0: `gid://gitlab/MergeRequest/${request.id}`,
      id_1: `gid://gitlab/MergeRequest/${other.id}`,
    })
    expect(both.mergeRequest_0.diffRefs.headSha).toBe(request.sha)
    expect(both.mergeRequest_1.diffRefs.headSha).toBe(other.sha)
    const byBranch = (await data(gitlens.mergeRequestForBranch, mate, { fullPath, branches: ['topic'] })).project
    expect(byBranch).toMatchObject({ opened: { nodes: [{ iid: '1' }] }, merged: { nodes: [] }, closed: { nodes: [] } })
  })

  it('lists the merge requests of a user and of a project with everything about them', async () => {
    const list = (await data(gitlens.requestsOfUser, mate, { username: keeper.username })).user.authoredMergeRequests
    expect(list.nodes).toHaveLength(2)
    const first = list.nodes.find(({ iid }: Found) => iid === '1')
    expect(first).toMatchObject({
      state: 'opened',
      draft: false,
      commitCount: 1,
      diffStatsSummary: { additions: 1, deletions: 1, fileCount: 1 },
      userNotesCount: request.user_notes_count,
      upvotes: 0,
      assignees: { nodes: [{ username: keeper.username }] },
      reviewers: { nodes: [{ username: mate.username, mergeRequestInteraction: { approved: false, reviewState: 'UNREVIEWED' } }] },
      mergeStatusEnum: 'CAN_BE_MERGED',
      labels: { nodes: [{ title: 'one', color: '#112233', id: expect.stringMatching(/^gid:\/\/gitlab\/ProjectLabel\/\d+$/) }] },
      milestone: null,
      headPipeline: { stages: { nodes: [{ name: 'external', jobs: { nodes: [{ name: 'test', status: 'SUCCESS', allowFailure: false }] } }] } },
      project: { fullPath, archived: false },
    })
    const toReview = (await data(gitlens.requestsToReview, keeper, { username: mate.username, path: fullPath })).user.reviewRequestedMergeRequests
    expect(toReview.nodes.map(({ iid }: Found) => iid)).toEqual(['1'])
    expect((await data(gitlens.requestOfRepository, mate, { fullPath, iid: '1' })).project.mergeRequest).toEqual({ ...first, project: undefined })
    const listed = async (filter: object) =>
      (await data(gitlens.requestsOfRepository, mate, { fullPath, ...filter })).project.mergeRequests.nodes.map(({ iid }: Found) => iid)
    expect(await listed({})).toHaveLength(2)
    expect(await listed({ labelName: ['one'], assigneeUsernames: [keeper.username], draft: false })).toEqual(['1'])
    expect(await listed({ reviewerUsername: mate.username, authorUsername: keeper.username })).toEqual(['1'])
    expect(await listed({ updatedBefore: '2001-01-01T00:00:00Z' })).toEqual([])
    expect(await listed({ draft: true })).toEqual([])
    await t.api('post', `${full.project.path}/merge_requests/1/approve`, mate).expect(201)
    const { reviewers } = (await data(gitlens.requestOfRepository, mate, { fullPath, iid: '1' })).project.mergeRequest
    expect(reviewers.nodes[0].mergeRequestInteraction).toEqual({ approved: true, reviewState: 'APPROVED' })
  })

  it('lists issues, milestones and labels', async () => {
    const { issues } = (await data(gitlens.issues, mate, { fullPath, labelName: ['one'], assigneeUsername: mate.username })).project
    expect(issues.nodes).toMatchObject([
      {
        iid: '1',
        state: 'opened',
        type: 'ISSUE',
        title: issue.title,
        assignees: { nodes: [{ username: mate.username }] },
        labels: { nodes: [{ title: 'one' }] },
      },
    ])
    expect((await data(gitlens.issue, mate, { projectId: fullPath, issueNumber: '2' })).project.issue.title).toBe('two')
    const { milestones } = (await data(gitlens.milestones, mate, { fullPath })).project
    expect(milestones.nodes).toMatchObject([
      { title: 'two', iid: '2', state: 'active', webPath: `/${fullPath}/milestones/2` },
      { title: 'one', iid: '1', dueDate: null },
    ])
    const { labels } = (await data(gitlens.labels, mate, { fullPath })).project
    expect(labels.nodes.map(({ title }: Found) => title)).toEqual(['one', 'two'])
  })

  it('tells who made a commit', async () => {
    const { lastCommit } = (await data(gitlens.userForCommit, mate, { fullPath, oid: full.sha })).project.repository.tree
    expect(lastCommit).toEqual({ author: { avatarUrl: expect.any(String) }, authorName: keeper.name, authorEmail: keeper.email })
    expect((await data(gitlens.userForCommit, mate, { fullPath, oid: 'f'.repeat(40) })).project.repository.tree).toBeNull()
  })
})

describe('queries of the extension for VS Code (GQL-41)', () => {
  it('shows a project, and finds projects', async () => {
    const shown = (await data(vscode.project, mate, { projectPath: fullPath })).project
    expect(shown).toMatchObject({ fullPath, wikiEnabled: true, group: { id: `gid://gitlab/Group/${full.group.id}` } })
    const found = (await data(vscode.projects, mate, { search: project.path, membership: true, limit: 20, searchNamespaces: true })).projects
    expect(found.nodes).toEqual([{ ...shown, repository: { empty: false } }])
    expect((await data(vscode.projectPermissions, mate, { projectPath: fullPath })).project.userPermissions).toEqual({
      createMergeRequestIn: true,
      readMergeRequest: true,
      pushCode: true,
    })
  })

  it('shows snippets and their contents', async () => {
    const { snippets } = (await data(vscode.snippets, mate, { projectPath: fullPath })).project
    expect(snippets.nodes).toMatchObject([
      { title: 'one', blobs: { nodes: [{ name: 'one.txt', path: 'one.txt', rawPath: expect.stringMatching(/\/raw$/) }] } },
    ])
    const { id } = snippets.nodes[0]
    expect(id).toMatch(/^gid:\/\/gitlab\/ProjectSnippet\/\d+$/)
    expect((await data(vscode.snippetContent, mate, { snippetId: id })).snippets.nodes).toEqual([
      { blobs: { nodes: [{ path: 'one.txt', rawPlainData: 'one' }] } },
    ])
  })

  it('shows the discussions on a merge request and on an issue, with positions and HTML', async () => {
    const { discussions } = (await data(vscode.requestDiscussions, mate, { projectPath: fullPath, iid: '1' })).project.mergeRequest
    const rest = (await t.api('get', `${full.project.path}/merge_requests/1/discussions`, mate).expect(200)).body
    expect(discussions.nodes.map(({ replyId }: Found) => replyId)).toEqual(rest.map(({ id }: Found) => `gid://gitlab/Discussion/${id}`))
    const notes = discussions.nodes.flatMap((discussion: Found) => discussion.notes.nodes)
    const place = { baseSha: request.diff_refs.base_sha, headSha: request.diff_refs.head_sha, startSha: request.diff_refs.start_sha }
    const [first] = notes
    expect(first).toMatchObject({
      body: 'What about *this*?',
      bodyHtml: expect.stringContaining('<em>this</em>'),
      system: false,
      author: { username: mate.username },
      url: `${request.web_url}#note_${rest[0].notes[0].id}`,
      userPermissions: { resolveNote: true, adminNote: true, createNote: true },
      position: null,
    })
    expect(notes.find(({ position }: Found) => position)).toMatchObject({
      position: { diffRefs: place, filePath: 'a.txt', positionType: 'text', newLine: 2, oldLine: null, newPath: 'a.txt', oldPath: 'a.txt' },
    })
    expect(discussions.nodes[0]).toMatchObject({ resolvable: true, resolved: false })
    const onIssue = (await data(vscode.issueDiscussions, keeper, { projectPath: fullPath, iid: '1' })).project.issue.discussions.nodes
    expect(onIssue[0]).toMatchObject({ resolvable: false, resolved: false })
    expect((await data(vscode.requestPermissions, mate, { projectPath: fullPath, iid: '1' })).project.mergeRequest.userPermissions).toEqual({
      createNote: true,
    })
  })
})

describe('queries of the import of Backstage (GQL-42)', () => {
  it('lists the groups below a group and its members, page by page', async () => {
    const top = await aGroup(t.ctx, { creator: keeper })
    const { full_path: group } = (await t.api('get', top.path, keeper).expect(200)).body
    const below = await aGroup(t.ctx, { creator: keeper, developer: mate, parent_id: top.id, description: 'Below' })
    const lowest = await aGroup(t.ctx, { creator: keeper, parent_id: below.id })
    const { descendantGroups } = (await data(backstage.descendantGroups, keeper, { group, endCursor: null })).group
    expect(descendantGroups.nodes.map(({ id, parent }: Found) => [id, parent.id])).toEqual([
      [`gid://gitlab/Group/${below.id}`, `gid://gitlab/Group/${top.id}`],
      [`gid://gitlab/Group/${lowest.id}`, `gid://gitlab/Group/${below.id}`],
    ])
    expect(descendantGroups.nodes[0]).toMatchObject({ description: 'Below', visibility: 'private' })
    const members = async (relations: string[] | undefined, of = group) =>
      (await data(backstage.groupMembers, keeper, { group: of, relations })).group.groupMembers.nodes.map(({ user }: Found) => user.username)
    expect(await members(['DIRECT'])).toEqual([keeper.username])
    expect(await members(['DIRECT', 'DESCENDANTS'])).toEqual([keeper.username, mate.username])
    expect(await members(['INHERITED'], descendantGroups.nodes[0].fullPath)).toEqual([keeper.username])
    expect(await members(undefined, descendantGroups.nodes[0].fullPath)).toEqual([keeper.username, mate.username])
  })
})

describe('queries of python-gitlab and glab (GQL-43, GQL-44)', () => {
  it('shows the user of the token', async () => {
    expect(await data(python.active, mate)).toEqual({ currentUser: { active: true } })
    expect(await data(python.name, mate)).toEqual({ currentUser: { name: mate.name } })
    expect(await data(glab.currentUser, mate)).toEqual({ currentUser: { username: mate.username } })
  })

  it('turns the pages of a list by its cursors', async () => {
    const query = glab.pages.replace('PATH', fullPath)
    const one = (await data(query, mate)).project.issues
    expect(one).toMatchObject({ edges: [{ node: { title: 'three' } }, { node: { title: 'two' } }], pageInfo: { hasNextPage: true } })
    const two = (await data(query, mate, { endCursor: one.pageInfo.endCursor })).project.issues
    expect(two).toMatchObject({ edges: [{ node: { title: 'one' } }], pageInfo: { hasNextPage: false } })
  })
})

it('shows pipelines with their stages and jobs (GQL-17)', async () => {
  const found = await data(
    `query($fullPath: ID!) { project(fullPath: $fullPath) { pipelines(ref: "topic") { count nodes { id iid status sha path active complete
      detailedStatus { text detailsPath } user { username } project { id } jobs { count nodes { id name status stage { name status }
      refName shortSha webPath } } } } jobs(statuses: [SUCCESS]) { nodes { name } } } }`,
    mate,
    { fullPath },
  )
  const [pipeline] = found.project.pipelines.nodes
  expect(pipeline).toMatchObject({ status: 'SUCCESS', sha: full.sha, complete: true, active: false, jobs: { count: 1 } })
  expect(pipeline.jobs.nodes).toMatchObject([
    { name: 'test', status: 'SUCCESS', stage: { name: 'external', status: 'success' }, shortSha: full.sha.slice(0, 8) },
  ])
  expect(found.project.jobs.nodes).toEqual([{ name: 'test' }])
  const bySha = `query($fullPath: ID!, $sha: String) { project(fullPath: $fullPath) { pipeline(sha: $sha) { id } } }`
  expect((await data(bySha, mate, { fullPath, sha: full.sha })).project.pipeline.id).toBe(pipeline.id)
  const byIid = `query($fullPath: ID!, $iid: ID) { project(fullPath: $fullPath) { pipeline(iid: $iid) { id } } }`
  expect((await data(byIid, mate, { fullPath, iid: pipeline.iid })).project.pipeline.id).toBe(pipeline.id)
})

it('shows files, folders and branches (GQL-18)', async () => {
  const query = `query($fullPath: ID!) { project(fullPath: $fullPath) { repository { empty exists rootRef
    branchNames(searchPattern: "t*", offset: 0, limit: 10)
    tree { lastCommit { sha title webPath } blobs { nodes { name path type mode webPath } } trees { nodes { name } } submodules { nodes { name } } }
    below: tree(path: ".gitlab", recursive: true) { blobs { nodes { path } } }
    none: tree(ref: "no-such") { lastCommit { sha } }
    blobs(paths: ["a.txt", "no.txt"], ref: "topic") { nodes { path rawTextBlob size oid rawPath } } } } }`
  const { repository } = (await data(query, mate, { fullPath })).project
  expect(repository).toMatchObject({
    empty: false,
    branchNames: ['topic'],
    tree: { blobs: { nodes: [{ name: 'README.md', type: 'blob', mode: '100644' }, { name: 'a.txt' }] }, trees: { nodes: [{ name: '.gitlab' }] } },
    below: { blobs: { nodes: [{ path: '.gitlab/issue_templates/one.md' }] } },
    none: null,
    blobs: { nodes: [{ path: 'a.txt', rawTextBlob: 'one\nTWO\nthree\n', size: 14, rawPath: `/${fullPath}/-/raw/topic/a.txt` }] },
  })
})

describe('the roots of queries (GQL-11, GQL-12)', () => {
  it('find projects, groups and users by what they are given', async () => {
    const user = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator: user, name: 'Quince', path: 'quince' })
    const below = await aGroup(t.ctx, { creator: user, name: 'Quince jam', path: 'jam', parent_id: top.id })
    const one = await aProject(t.ctx, { creator: user, namespace_id: top.id, name: 'quince one', path: 'one', topics: ['fruit'] })
    const two = await aProject(t.ctx, { creator: user, namespace_id: below.id, name: 'quince two', path: 'two' })
    const found = await data(
      `query($ids: [ID!], $users: [ID!], $names: [String!]) {
        sorted: projects(search: "quince", sort: "name_asc") { nodes { name } } newest: projects(search: "quince") { nodes { name } }
        ids: projects(ids: $ids) { count nodes { name } } topic: projects(topics: ["fruit"]) { nodes { name } }
        above: projects(search: "jam", searchNamespaces: true) { nodes { name } }
        groups(search: "quince") { count nodes { fullPath } } top: groups(search: "quince", topLevelOnly: true) { nodes { fullPath } }
        owned: groups(ownedOnly: true) { nodes { fullPath } } users(ids: $users) { nodes { username } } named: users(usernames: $names) { count }
        echo(text: "hello") }`,
      user,
      {
        ids: [`gid://gitlab/Project/${two.id}`, String(one.id), '999999'],
        users: [`gid://gitlab/User/${user.id}`],
        names: [user.username, 'no-such-user'],
      },
    )
    expect(found).toEqual({
      sorted: { nodes: [{ name: 'quince one' }, { name: 'quince two' }] },
      newest: { nodes: [{ name: 'quince two' }, { name: 'quince one' }] },
      ids: { count: 2, nodes: [{ name: 'quince two' }, { name: 'quince one' }] },
      topic: { nodes: [{ name: 'quince one' }] },
      above: { nodes: [{ name: 'quince two' }] },
      groups: { count: 2, nodes: [{ fullPath: 'quince' }, { fullPath: 'quince/jam' }] },
      top: { nodes: [{ fullPath: 'quince' }] },
      owned: { nodes: [{ fullPath: 'quince' }, { fullPath: 'quince/jam' }] },
      users: { nodes: [{ username: user.username }] },
      named: { count: 1 },
      echo: `"${user.username}" says: hello`,
    })
  })

  it('list what is directly in a group, and with includeSubgroups what is below', async () => {
    const user = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator: user })
    const below = await aGroup(t.ctx, { creator: user, parent_id: top.id })
    const { full_path } = (await t.api('get', top.path, user).expect(200)).body
    for (const [namespace_id, title] of [
      [top.id, 'here'],
      [below.id, 'below'],
    ] as const) {
      const made = await aProject(t.ctx, { creator: user, namespace_id, files: { 'a.txt': 'a\n' } })
      await t.api('post', `${made.path}/issues`, user).send({ title }).expect(201)
      await aMergeRequest(t, { project: made, caller: user, title, source: 'topic' })
    }
    const list = async (args: string) => {
      const fields = `issues${args} { nodes { title } } mergeRequests${args} { nodes { title } } projects${args} { count }`
      const { issues, mergeRequests, projects } = (await data(`{ group(fullPath: "${full_path}") { ${fields} } }`, user)).group
      return [issues.nodes.map(({ title }: Found) => title), mergeRequests.nodes.map(({ title }: Found) => title), projects.count]
    }
    expect(await list('')).toEqual([['here'], ['here'], 1])
    expect(await list('(includeSubgroups: true)')).toEqual([['below', 'here'], ['below', 'here'], 2])
  })

  it('list merge requests by branches, and in the order that is asked for', async () => {
    const own = await aProject(t.ctx, { creator: mate, files: { 'readme.md': 'one\n' } })
    for (const source of ['b', 'c', 'a']) await aMergeRequest(t, { project: own, caller: mate, source, title: `from ${source}` })
    const list = async (args: string) =>
      (await data(`{ project(fullPath: "${own.fullPath}") { mergeRequests(${args}) { nodes { sourceBranch } } } }`, mate)).project.mergeRequests.nodes
        .map(({ sourceBranch }: Found) => sourceBranch)
        .join(' ')
    expect(await list('sourceBranches: ["a", "b", "x"], sort: CREATED_ASC')).toBe('b a')
    expect(await list('targetBranches: ["main"], sort: TITLE_DESC')).toBe('c b a')
    expect(await list('targetBranches: ["other"]')).toBe('')
    expect(await list('iids: ["2"]')).toBe('c')
    expect(await list('state: merged')).toBe('')
  })
})

describe('every field of the schema (GQL-3)', () => {
  const typeOf = (type: unknown) => String(type).replace(/[[\]!]/g, '')
  /** All fields of a type that are no objects. */
  const leavesOf = (name: string) => {
    const type = schema().getType(name)
    if (!type || !('getFields' in type)) throw new Error(`${name} has no fields`)
    return Object.values(type.getFields())
      .filter((field) => !('getFields' in (schema().getType(typeOf(field.type)) ?? {})))
      .filter((field) => !('args' in field) || field.args.every((argument: { type: unknown }) => !String(argument.type).endsWith('!')))
      .map((field) => field.name)
      .join(' ')
  }
  const all = (name: string, more = '') => `{ __typename ${leavesOf(name)} ${more} }`

  it('can be asked for together with all others of its type', async () => {
    const label = all('Label')
    const milestone = all('Milestone')
    const user = all('UserCore', `userPermissions ${all('UserPermissions')}`)
    const member = `${leavesOf('MemberInterface')} accessLevel ${all('AccessLevel')} user { username }`
    const note = all(
      'Note',
      `author ${user} resolvedBy { id } position ${all('DiffPosition', `diffRefs ${all('DiffRefs')}`)} userPermissions ${all('NotePermissions')}`,
    )
    const discussion = all('Discussion', `resolvedBy { id } notes { nodes ${note} }`)
    const job = all('CiJob', `detailedStatus ${all('DetailedStatus')} stage ${all('CiStage')}`)
    const pipeline = all(
      'Pipeline',
      `detailedStatus ${all('DetailedStatus')} user { id } stages { nodes ${all('CiStage', `jobs { count nodes ${job} }`)} }`,
    )
    const commit = all('Commit', 'author { id }')
    const onMergeRequest = `diffRefs ${all('DiffRefs')} diffStatsSummary ${all('DiffStatsSummary')} taskCompletionStatus ${all('TaskCompletionStatus')}
      mergeUser { id } targetProject { id } headPipeline ${pipeline} approvedBy { nodes ${user} } commits { nodes ${commit} }
      userPermissions ${all('MergeRequestPermissions')} milestone ${milestone} author { mergeRequestInteraction ${all('UserMergeRequestInteraction')} }`
    const files = `repository ${all(
      'Repository',
      `tree { lastCommit ${commit} blobs { nodes ${all('Blob')} } trees { nodes ${all('TreeEntry')} } submodules { nodes ${all('Submodule')} } }
      blobs(paths: ["a.txt"]) { nodes ${all('RepositoryBlob')} }`,
    )}`
    const parts = [
      `${leavesOf('Project')} ${files} namespace ${all('Namespace')} userPermissions ${all('ProjectPermissions')}`,
      `mergeRequest(iid: "1") ${all('MergeRequest', onMergeRequest)}`,
      `mergeRequest(iid: "1") { discussions { nodes ${discussion} } notes { nodes ${note} } }`,
      `issue(iid: "1") ${all('Issue', `author ${user} taskCompletionStatus ${all('TaskCompletionStatus')} userPermissions ${all('IssuePermissions')}`)}`,
      `labels { nodes ${label} } label(title: "one") ${label} milestones { nodes ${milestone} } projectMembers { nodes { ${member} } }`,
      `pipelines { nodes ${pipeline} } jobs { nodes ${job} } snippets { nodes ${all('Snippet', `author { id } project { id } blobs { nodes ${all('SnippetBlob')} }`)} }`,
      `group ${all(
        'Group',
        `userPermissions ${all('GroupPermissions')} groupMembers { nodes { ${member} group { id } } } issues(includeSubgroups: true) { count }
        mergeRequests { count } labels { count } milestones { nodes { id } } projects { count }`,
      )}`,
    ]
    for (const part of parts) {
      const found = (await data(`{ project(fullPath: "${fullPath}") { ${part} } }`, keeper)).project
      expect(Object.values(found).every((value) => value !== undefined)).toBe(true)
    }
    expect(await data(`{ metadata ${all('Metadata', `kas ${all('Kas')}`)} }`, keeper)).toMatchObject({ metadata: { enterprise: false } })
  })
})
