import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import type { Commit } from '../../../git/types.js'
import * as documented from '../../../http/documented.js'
import { bool, oneOf, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import { tagInAddress, tagOfAddress } from '../../../rules/path.js'
import { availableArchives } from '../../../services/repository/archive.js'
import { type BranchRecord, createBranch, deleteBranch, deleteMergedBranches, listBranches } from '../../../services/repository/branches.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { resolveRevision } from '../../../services/repository/revisions.js'
import { createTag, deleteTag, getTag, listTags } from '../../../services/repository/tags.js'
import { refChoices } from '../../../services/search/ref-choices.js'
import { type Choice, choicesAnswer } from '../../components/choices.js'
import { ArchiveLinks, shortId } from '../../components/files/code.js'
import { momentOf, titleOf } from '../../components/files/commit.js'
import { ActionButton, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Marked } from '../../components/marked.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { SearchForm } from '../../components/search.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, type ProjectLinks, projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { LongText } from '../../page-part.js'
import { DESTINATIONS } from './finders.js'

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

const newRequestAt = (links: ProjectLinks, branch: string) =>
  `${links.page('merge_requests/new')}?${new URLSearchParams({ 'merge_request[source_branch]': branch })}`

const mergedAt = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/merged_branches`

type Distance = { ahead: number; behind: number }

/** How far branches are from the default branch, by their names; nothing without a default branch. */
async function distancesOf(ctx: Context, { project }: ProjectSubject, branches: BranchRecord[]): Promise<Map<string, Distance>> {
  const repository = repositoryOf(ctx, project)
  const root = await repository.ref(`refs/heads/${project.default_branch}`)
  if (!root) return new Map()
  const others = branches.filter((branch) => !branch.default)
  return new Map(await Promise.all(others.map(async ({ name, commit }) => [name, await repository.aheadBehind(commit.oid, root)] as const)))
}

const Distance = ({ distance, from }: { distance: Distance | undefined; from: string }) =>
  distance ? (
    <span class="dim">
      <Phrase
        text="{ahead} ahead, {behind} behind {from}"
        ahead={distance.ahead}
        behind={distance.behind}
        from={<span class="hidden">{from}</span>}
      />
    </span>
  ) : null

const newBranch = z.object({ branch_name: orDefault(documented.filled(), ''), ref: orDefault(documented.filled(), '') })

export const branchesPage = page({
  at: 'P/-/branches',
  access: onProject('download_code'),
  input: z.object({ search: opt(searchText()), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const { items, total } = await listBranches(ctx, subject, { search: input.search, sort: 'updated_desc', page: input.page, per_page: PER_PAGE })
    const mayCreate = subject.can('create_branch')
    const distances = await distancesOf(ctx, subject, items)
    const mayDelete = ({ default: isDefault, protected: isProtected }: BranchRecord) =>
      !isDefault && subject.can('push_code') && (!isProtected || subject.can('delete_protected_branch'))
    const base = `${homeOfProject(subject)}/-/branches`
    const f = fieldsOf(view, newBranch)
    return {
      title: `${t('Branches')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="branches" heading={t('Branches')}>
          <div class="row">
            <SearchForm action={links.page('branches')} value={input.search} label={t('Find a branch')} />
            {subject.can('push_code') && (
              <ActionButton view={view} action={mergedAt(subject)} method="DELETE" label={t('Delete merged branches')} class="danger" />
            )}
          </div>
          <Rows empty={t('There is no such branch.')}>
            {items.map((branch) => {
              const { name, commit, merged, protected: isProtected, default: isDefault } = branch
              return (
                <Row
                  key={name}
                  actions={
                    <>
                      {!isDefault && subject.can('create_merge_request') && <a href={newRequestAt(links, name)}>{t('Merge request')}</a>}
                      {!isDefault && (
                        <a href={`${links.page('compare')}/${encodeURIComponent(subject.project.default_branch)}...${encodeURIComponent(name)}`}>
                          {t('Compare')}
                        </a>
                      )}
                      {mayDelete(branch) && (
                        <ActionButton view={view} action={`${base}/${inUrl(name)}`} method="DELETE" label={t('Delete')} what={name} class="danger" />
                      )}
                    </>
                  }
                >
                  <span>
                    <a href={links.tree(name)}>
                      <strong>{name}</strong>
                    </a>{' '}
                    {isDefault && <Badge>{t('default')}</Badge>} {isProtected && <Badge kind="success">{t('protected')}</Badge>}{' '}
                    {merged && <Badge kind="merged">{t('merged')}</Badge>}{' '}
                    <Distance distance={distances.get(name)} from={subject.project.default_branch} />
                  </span>
                  <HeadLine links={links} commit={commit} />
                </Row>
              )
            })}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          {mayCreate && (
            <>
              <h2>{t('New branch')}</h2>
              <FormTag view={view} action={base}>
                <FormFaults view={view} />
                <div class="columns">
                  <Field {...f.branch_name} label={t('Name')} />
                  <Field {...f.ref} label={t('From')} value={subject.project.default_branch} hint={t('A branch, a tag or a commit.')} />
                </div>
                <Submit label={t('Create branch')} class="" />
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
  access: onProjectSignedIn('create_branch'),
  input: newBranch,
  on: branchesPage,
  async submit({ ctx, caller, subject, input }) {
    await createBranch(ctx, subject, caller, { branch: input.branch_name, ref: input.ref })
    return new Redirect(`${homeOfProject(subject)}/-/tree/${inUrl(input.branch_name)}`, {
      notice: t('The branch {branchName} is created.', { branchName: input.branch_name }),
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
    return new Redirect(`${homeOfProject(subject)}/-/branches`, { notice: t('The branch {path} is deleted.', { path: input.path }) })
  },
})

export const mergedRemoval = form({
  at: 'P/-/merged_branches',
  method: 'DELETE',
  access: onProjectSignedIn('push_code'),
  on: branchesPage,
  async submit({ ctx, caller, subject }) {
    await deleteMergedBranches(ctx, subject, caller)
    return new Redirect(`${homeOfProject(subject)}/-/branches`, {
      notice: t('Merged branches are deleted, but for protected ones and those of open merge requests.'),
    })
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
    const formats = availableArchives()
    return {
      title: `${t('Tags')} · ${fullPathOf(subject.project)}`,
      feed: { title: t('Tags of {fullPath}', { fullPath: fullPathOf(subject.project) }), at: `${homeOfProject(subject)}/-/tags.atom` },
      body: (
        <ProjectLayout view={view} subject={subject} tab="tags" heading={t('Tags')}>
          <div class="row">
            <SearchForm action={links.page('tags')} value={input.search} label={t('Find a tag')} />
            {subject.can('create_tag') && (
              <a class="button" href={links.page('tags/new')}>
                {t('New tag')}
              </a>
            )}
          </div>
          <Rows empty={input.search ? t('There is no such tag.') : t('There are no tags yet.')}>
            {items.map(({ name, tag, commit, release, protected: isProtected }) => (
              <Row
                key={name}
                actions={
                  <>
                    {release && <a href={links.release(name)}>{t('Release')}</a>}
                    {commit && (
                      <span>
                        <ArchiveLinks links={links} project={subject.project} revision={name} formats={formats} />
                      </span>
                    )}
                  </>
                }
              >
                <span>
                  <a href={links.tag(name)}>
                    <strong>{name}</strong>
                  </a>{' '}
                  {isProtected && <Badge kind="success">{t('protected')}</Badge>}
                </span>
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

export const tagPage = page({
  at: 'P/-/tags/*',
  access: onProject('download_code'),
  input: z.object({ path: str() }),
  async show({ ctx, caller, subject, input, view }) {
    const { name, tag, commit, release, protected: isProtected } = await getTag(ctx, subject, tagOfAddress(input.path))
    const links = projectLinks(view, fullPathOf(subject.project))
    const notes = release && (await renderText(ctx, caller, subject, release.description))
    const mayRelease = subject.can('manage_release') && !release
    return {
      title: `${t('Tag {name}', { name })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="tags">
          <h1>
            {name} {isProtected && <Badge kind="success">{t('protected')}</Badge>}
          </h1>
          {tag && (
            <>
              <pre class="message">
                <LongText text={tag.message.trim()} />
              </pre>
              {tag.tagger && (
                <p class="dim">
                  <Phrase text="{name} tagged this {time}" name={tag.tagger.name} time={<Time at={momentOf(tag.tagger)} />} />
                </p>
              )}
            </>
          )}
          {commit ? (
            <>
              <p>
                <HeadLine links={links} commit={commit} />
              </p>
              <p class="toolbar">
                <a href={links.tree(name)}>{t('Files')}</a>
                <a href={links.commits(name)}>{t('Commits')}</a>
                <span>
                  <Icon name="download" /> <ArchiveLinks links={links} project={subject.project} revision={name} />
                </span>
              </p>
            </>
          ) : (
            <p class="dim">{t('This tag names no commit.')}</p>
          )}
          {notes && (
            <section class="box">
              <h2 class="head">
                <a href={links.release(name)}>{t('Release')}</a>
              </h2>
              <Prose html={notes} />
            </section>
          )}
          <p class="toolbar">
            {mayRelease && (
              <a class="button" href={`${links.page('releases/new')}?${new URLSearchParams({ tag_name: name })}`}>
                {t('New release')}
              </a>
            )}
            {subject.can('delete_tag') && !isProtected && (
              <ActionButton view={view} action={tagAt(subject, name)} method="DELETE" label={t('Delete tag')} class="danger" />
            )}
          </p>
        </ProjectLayout>
      ),
    }
  },
})

const tagAt = (subject: ProjectSubject, name: string) => `${homeOfProject(subject)}/-/tags/${inUrl(tagInAddress(name))}`

const newTag = z.object({ tag_name: orDefault(documented.filled(), ''), ref: orDefault(documented.filled(), ''), message: opt(str()) })

export const newTagPage = page({
  at: 'P/-/tags/new',
  access: onProjectSignedIn('create_tag'),
  input: z.object({ ref: opt(str()) }),
  async show({ subject, input, view }) {
    const f = fieldsOf(view, newTag)
    return {
      title: `${t('New tag')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="tags">
          <h1>{t('New tag')}</h1>
          <FormTag view={view} action={`${homeOfProject(subject)}/-/tags`}>
            <FormFaults view={view} />
            <div class="columns">
              <Field {...f.tag_name} label={t('Name')} />
              <Field {...f.ref} label={t('From')} value={input.ref ?? subject.project.default_branch} hint={t('A branch, a tag or a commit.')} />
            </div>
            <TextField {...f.message} label={t('Message')} rows={4} hint={t('With one the tag is an object of its own, with you and the date.')} />
            <Submit label={t('Create tag')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const newTagForm = form({
  at: 'P/-/tags',
  access: onProjectSignedIn('create_tag'),
  input: newTag,
  on: newTagPage,
  async submit({ ctx, caller, subject, input }) {
    const { name } = await createTag(ctx, subject, caller, input)
    return new Redirect(tagAt(subject, name), { notice: t('The tag {name} is created.', { name }) })
  },
})

export const tagRemoval = form({
  at: 'P/-/tags/*',
  method: 'DELETE',
  access: onProjectSignedIn('push_code'),
  input: z.object({ path: str() }),
  on: tagPage,
  async submit({ ctx, caller, subject, input }) {
    const tag = tagOfAddress(input.path)
    await deleteTag(ctx, subject, caller, tag)
    return new Redirect(`${homeOfProject(subject)}/-/tags`, { notice: t('The tag {tag} is deleted.', { tag }) })
  },
})

/** Offers branches and tags to go to. */
export const switchPage = page({
  at: 'P/-/refs/switch',
  access: onProject('download_code'),
  input: z.object({
    destination: orDefault(oneOf(DESTINATIONS), 'tree'),
    path: orDefault(str(), ''),
    search: opt(searchText()),
    /** The branch or tag to go to. */
    ref: opt(str()),
    /** The branch or tag of the page that asks. */
    from: opt(str()),
    /** Whether the script asks, for its menu. */
    choices: opt(bool()),
  }),
  async show({ ctx, subject, input, view }) {
    const { destination, path, search, ref: wanted } = input
    const links = projectLinks(view, fullPathOf(subject.project))
    const pageOf = (ref: string) => {
      if (destination === 'commits') return links.commits(ref, path)
      if (destination === 'blob' && path) return links.blob(ref, path)
      return destination === 'tree' || destination === 'blob' ? links.tree(ref, path) : links.page(`${destination}/${inUrl(ref)}`)
    }
    const repository = repositoryOf(ctx, subject.project)
    if (wanted) {
      const found = await resolveRevision(ctx, subject, wanted)
      if (!found) throw notFound()
      const isThere = path === '' || (await repository.entry(found.commit, path)) !== null
      const to = isThere ? pageOf(wanted) : destination === 'commits' ? links.commits(wanted) : links.tree(wanted)
      return new Redirect(to.slice(view.links.prefix.length), isThere ? {} : { notice: t('{path} is not there in {wanted}.', { path, wanted }) })
    }
    const here = (ref: string) => `${links.page('refs/switch')}?${new URLSearchParams({ ref, destination, path })}`
    const find = (prefix: 'refs/heads/' | 'refs/tags/') => refChoices(ctx, subject, prefix, { search, limit: PER_PAGE })
    const [branches, tags] = await Promise.all([find('refs/heads/'), find('refs/tags/')])
    const toRef = (name: string) => (path === '' ? pageOf(name) : here(name))
    const isDefault = (name: string) => name === subject.project.default_branch
    const branchesText =
      branches.total > branches.names.length
        ? t('{count} of {total} branches', { count: branches.names.length, total: branches.total })
        : plural(branches.total, '{count} branch', '{count} branches')
    const tagsText =
      tags.total > tags.names.length
        ? t('{count} of {total} tags', { count: tags.names.length, total: tags.total })
        : plural(tags.total, '{count} tag', '{count} tags')
    if (input.choices) {
      const choice = (name: string, isBranch: boolean): Choice => ({
        to: toRef(name),
        text: <Marked text={name} wanted={search ?? ''} />,
        note: isBranch && isDefault(name) ? 'default' : undefined,
        current: name === input.from,
      })
      const groups = [
        { label: t('Branches'), choices: branches.names.map((name) => choice(name, true)) },
        { label: t('Tags'), choices: tags.names.map((name) => choice(name, false)) },
      ]
      return choicesAnswer(groups, `${branchesText}, ${tagsText}`)
    }
    const list = ({ names, total }: { names: string[]; total: number }, none: string, isBranch: boolean) => (
      <>
        <Rows empty={none}>
          {names.map((name) => (
            <Row key={name}>
              <span>
                <a href={toRef(name)}>
                  <Marked text={name} wanted={search ?? ''} />
                </a>{' '}
                {isBranch && isDefault(name) && <Badge>{t('default')}</Badge>}
              </span>
            </Row>
          ))}
        </Rows>
        {total > names.length && (
          <p class="dim">
            <Phrase text="The newest {count} of {total} are shown. Write a part of the name." count={names.length} total={total} />
          </p>
        )}
      </>
    )
    return {
      title: `${t('Switch branch or tag')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>{t('Switch branch or tag')}</h1>
          <SearchForm action={links.page('refs/switch')} value={search} label={t('Find a branch or tag')} hidden={{ destination, path }} />
          <h2>{t('Branches')}</h2>
          {list(branches, t('There is no such branch.'), true)}
          <h2>{t('Tags')}</h2>
          {list(tags, t('There is no such tag.'), false)}
        </ProjectLayout>
      ),
    }
  },
})
