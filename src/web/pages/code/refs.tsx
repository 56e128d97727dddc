import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../../access/rules.js'
import type { Commit } from '../../../git/types.js'
import { oneOf, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import { createBranch, deleteBranch, listBranches } from '../../../services/repository/branches.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { listTags } from '../../../services/repository/tags.js'
import { shortId } from '../../components/code.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, type ProjectLinks, projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { momentOf, titleOf } from './revision.js'

const PER_PAGE = 30

/** The commit that a branch or tag names. */
const HeadLine = ({ links, commit }: { links: ProjectLinks; commit: Commit }) => (
  <span class="dim">
    <a href={links.commit(commit.oid)}>
      <code>{shortId(commit.oid)}</code>
    </a>{' '}
    {titleOf(commit)} · <Time at={momentOf(commit.committer)} />
  </span>
)

export const branchesPage = page({
  at: 'P/-/branches',
  access: onProject('download_code'),
  input: z.object({ search: opt(searchText()), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const { items, total } = await listBranches(ctx, subject, { search: input.search, sort: 'updated_desc', page: input.page, per_page: PER_PAGE })
    const mayCreate = subject.can('create_branch')
    const base = `/${inUrl(fullPathOf(subject.project))}/-/branches`
    return {
      title: `Branches · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="branches" heading="Branches">
          <SearchForm action={links.page('branches')} value={input.search} label="Find a branch" />
          <Rows empty="There is no such branch.">
            {items.map(({ name, commit, merged, protected: isProtected, default: isDefault, can_push }) => (
              <Row
                key={name}
                actions={
                  <>
                    {!isDefault && (
                      <a href={`${links.page('compare')}/${encodeURIComponent(subject.project.default_branch)}...${encodeURIComponent(name)}`}>
                        Compare
                      </a>
                    )}
                    {!isDefault && !isProtected && can_push && (
                      <ActionButton view={view} action={`${base}/${inUrl(name)}`} method="DELETE" label="Delete" what={name} class="danger" />
                    )}
                  </>
                }
              >
                <span>
                  <a href={links.tree(name)}>
                    <strong>{name}</strong>
                  </a>{' '}
                  {isDefault && <Badge>default</Badge>} {isProtected && <Badge kind="success">protected</Badge>}{' '}
                  {merged && <Badge kind="merged">merged</Badge>}
                </span>
                <HeadLine links={links} commit={commit} />
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          {mayCreate && (
            <>
              <h2>New branch</h2>
              <FormTag view={view} action={base}>
                <FormFaults view={view} />
                <div class="columns">
                  <Field view={view} name="branch_name" label="Name" required />
                  <Field view={view} name="ref" label="From" value={subject.project.default_branch} hint="A branch, a tag or a commit." required />
                </div>
                <Submit label="Create branch" class="" />
              </FormTag>
            </>
          )}
        </ProjectLayout>
      ),
    }
  },
})

export const branchForm = form({
  at: 'P/-/branches',
  method: 'POST',
  access: onProjectSignedIn('create_branch'),
  input: z.object({ branch_name: orDefault(str(), ''), ref: orDefault(str(), '') }),
  on: branchesPage,
  async submit({ ctx, caller, subject, input }) {
    await createBranch(ctx, subject, caller, { branch: input.branch_name, ref: input.ref })
    return new Redirect(`/${inUrl(fullPathOf(subject.project))}/-/tree/${inUrl(input.branch_name)}`, {
      notice: `The branch ${input.branch_name} is created.`,
    })
  },
})

export const branchRemoval = form({
  at: 'P/-/branches/*',
  method: 'DELETE',
  access: onProjectSignedIn('push_code'),
  input: z.object({ path: str() }),
  on: branchesPage,
  async submit({ ctx, caller, subject, input }) {
    await deleteBranch(ctx, subject, caller, input.path)
    return new Redirect(`/${inUrl(fullPathOf(subject.project))}/-/branches`, { notice: `The branch ${input.path} is deleted.` })
  },
})

export const tagsPage = page({
  at: 'P/-/tags',
  access: onProject('download_code'),
  input: z.object({ search: opt(searchText()), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const filter = { search: input.search, order_by: 'updated', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listTags(ctx, subject, filter)
    return {
      title: `Tags · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="tags" heading="Tags">
          <SearchForm action={links.page('tags')} value={input.search} label="Find a tag" />
          <Rows empty={input.search ? 'There is no such tag.' : 'There are no tags yet.'}>
            {items.map(({ name, tag, commit }) => (
              <Row
                key={name}
                actions={
                  <>
                    <a href={links.archive(name, `${subject.project.path}-${name.replace(/\//g, '-')}.zip`)}>ZIP</a>
                    <a href={links.archive(name, `${subject.project.path}-${name.replace(/\//g, '-')}.tar.gz`)}>tar.gz</a>
                  </>
                }
              >
                <a href={links.tree(name)}>
                  <strong>{name}</strong>
                </a>
                {tag && <span>{titleOf(tag)}</span>}
                {commit && <HeadLine links={links} commit={commit} />}
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** Offers branches and tags to go to; with `id` leads on at once. */
export const switchPage = page({
  at: 'P/-/refs/switch',
  access: onProject('download_code'),
  input: z.object({
    id: opt(str()),
    destination: orDefault(oneOf(['tree', 'blob', 'commits']), 'tree'),
    path: orDefault(str(), ''),
    search: opt(searchText()),
  }),
  async show({ ctx, subject, input, view }) {
    const { destination, path, search } = input
    const links = projectLinks(view, fullPathOf(subject.project))
    const to = (ref: string) =>
      destination === 'commits' ? links.commits(ref, path) : destination === 'blob' && path ? links.blob(ref, path) : links.tree(ref, path)
    if (input.id) return new Redirect(to(input.id).slice(view.links.prefix.length))
    const repository = repositoryOf(ctx, subject.project)
    const find = async (prefix: string) => {
      const refs = search ? await repository.refs(prefix) : (await repository.refsPage(prefix, { skip: 0, limit: PER_PAGE })).refs
      const names = refs.map(({ name }) => name.slice(prefix.length))
      return (search ? names.filter((name) => name.toLowerCase().includes(search.toLowerCase())) : names).slice(0, PER_PAGE)
    }
    const [branches, tags] = await Promise.all([find('refs/heads/'), find('refs/tags/')])
    const list = (names: string[], none: string) => (
      <Rows empty={none}>
        {names.map((name) => (
          <Row key={name}>
            <a href={to(name)}>{name}</a>
          </Row>
        ))}
      </Rows>
    )
    return {
      title: `Switch branch or tag · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>Switch branch or tag</h1>
          <SearchForm action={links.page('refs/switch')} value={search} label="Find a branch or tag" hidden={{ destination, path }} />
          <h2>Branches</h2>
          {list(branches, 'There is no such branch.')}
          <h2>Tags</h2>
          {list(tags, 'There is no such tag.')}
        </ProjectLayout>
      ),
    }
  },
})
