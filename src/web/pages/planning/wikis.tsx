import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { conflict, forbidden, notFound, unauthenticated } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, paging, str } from '../../../http/params.js'
import { withoutTrailing } from '../../../lib/text/without-trailing.js'
import { titleOfSlug } from '../../../rules/wiki-page.js'
import { compareWikiPage, findShownPage, listWikiVersions, type ShownWikiPage } from '../../../services/content/wiki-history.js'
import { createWikiPage, deleteWikiPage, hasWikiFile, listWikiPages, updateWikiPage } from '../../../services/content/wikis.js'
import { haveHidden, linesOf } from '../../components/diff/diff.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { momentOf } from '../../components/files/commit.js'
import { ActionButton, Field, FormFaults, Hidden, Submit, typed } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { CodeText, HiddenNotice, Prose } from '../../components/markup.js'
import { Time } from '../../components/time.js'
import { renderWikiPage, within } from '../../components/wiki/render-page.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl } from '../../links.js'
import { type Answer, form, type PageView, page, Redirect } from '../../page.js'
import { LongText } from '../../page-part.js'

const PER_PAGE = 50
const MAX_DIFF_LINES = 20_000
const addressOf = (subject: ProjectSubject, slug: string) => `${within(subject)}/${inUrl(slug)}`

interface FrameProps {
  view: PageView
  subject: ProjectSubject
  beside: Pick<ShownWikiPage, 'slugs' | 'hasMore'> & { sidebar: string | null }
  current?: string
  children: ComponentChildren
}

/** A page of the wiki, with the sidebar or the list of pages beside it. */
const Frame = ({ view, subject, beside, current, children }: FrameProps) => {
  const at = view.links.prefix + within(subject)
  return (
    <ProjectLayout view={view} subject={subject} tab="wiki">
      <div class="with-aside">
        <div>{children}</div>
        <aside>
          {subject.can('write_wiki') && (
            <p>
              <a class="button" href={`${at}/new`}>
                {t('New page')}
              </a>
            </p>
          )}
          {beside.sidebar ? (
            <Prose html={beside.sidebar} />
          ) : (
            beside.slugs.length > 0 && (
              <nav class="side" aria-label={t('Pages of the wiki')}>
                <ul>
                  {beside.slugs.map((slug) => (
                    <li key={slug}>
                      <a href={`${at}/${inUrl(slug)}`} {...(slug === current && { 'aria-current': 'page' })}>
                        {slug.includes('/') && <span class="dim">{slug.slice(0, slug.lastIndexOf('/') + 1)}</span>}
                        {titleOfSlug(slug)}
                      </a>
                    </li>
                  ))}
                </ul>
              </nav>
            )
          )}
          <p class="dim">
            <a href={`${at}/pages`}>{t('All pages')}</a>
            {' · '}
            <a href={`${at}/git_access`}>{t('Clone')}</a>
          </p>
        </aside>
      </div>
    </ProjectLayout>
  )
}

async function sidebarOf(ctx: Context, caller: Caller, subject: ProjectSubject, shown: Pick<ShownWikiPage, 'sidebar' | 'slugs' | 'hasMore'>) {
  return { ...shown, sidebar: shown.sidebar ? await renderWikiPage(ctx, caller, subject, { slug: '', text: shown.sidebar }) : null }
}

/** The title that a form shows for a slug, with its folders. */
const typedTitle = (slug: string) => slug.replaceAll('-', ' ')

const NOTHING_BESIDE = { sidebar: null, slugs: [], hasMore: false }

interface At {
  ctx: Context
  caller: Caller
  subject: ProjectSubject
  view: PageView
}

/** The page of a slug, or what is done with it: what stands after its last slash. */
export const wikiPage = page({
  at: 'P/-/wikis/*',
  access: onProject('read_wiki'),
  input: z.object({ path: str(), version_id: opt(str()), from: opt(str()), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const at = { ctx, caller, subject, view }
    const path = withoutTrailing(input.path, '/')
    const [, slug = path, what] = /^(.+)\/(edit|history|diff)$/.exec(path) ?? []
    if (what === 'edit') return showEdit(at, slug)
    if (what === 'history') return showHistory(at, slug, input.page)
    if (what === 'diff') return showDiff(at, slug, input)
    return showWikiPage(at, slug, input.version_id)
  },
})

async function showWikiPage({ ctx, caller, subject, view }: At, slug: string, version: string | undefined): Promise<Answer> {
  const found = await findShownPage(ctx, subject, slug, version)
  const at = view.links.prefix + addressOf(subject, slug)
  if (!found) {
    if (!version && (await hasWikiFile(ctx, subject, slug))) return new Redirect(`${within(subject)}/raw/${inUrl(slug)}`)
    if (version || (slug !== 'home' && !subject.can('write_wiki'))) throw notFound('Wiki Page')
    const home = slug === 'home' ? null : await findShownPage(ctx, subject, 'home')
    return {
      title: `${titleOfSlug(slug)} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
      status: slug === 'home' ? 200 : 404,
      body: (
        <Frame view={view} subject={subject} beside={home ? await sidebarOf(ctx, caller, subject, home) : NOTHING_BESIDE}>
          <h1>{titleOfSlug(slug)}</h1>
          <p class="empty">{slug === 'home' ? t('This wiki has no home page yet.') : t('This page does not exist yet.')}</p>
          {view.viewer && subject.can('write_wiki') && <NewForm view={view} subject={subject} title={typedTitle(slug)} />}
        </Frame>
      ),
    }
  }
  const { content, format, commit } = found
  const html = format === 'markdown' ? await renderWikiPage(ctx, caller, subject, { slug, text: content, version }) : null
  return {
    title: `${titleOfSlug(slug)} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
    body: (
      <Frame view={view} subject={subject} beside={await sidebarOf(ctx, caller, subject, found)} current={slug}>
        <div class="heading">
          <h1>{titleOfSlug(slug)}</h1>
          <div class="row start">
            <a class="button" href={`${at}/history`}>
              {t('History')}
            </a>
            {view.viewer && subject.can('write_wiki') && !version && (
              <a class="button" href={`${at}/edit`}>
                {t('Edit')}
              </a>
            )}
          </div>
        </div>
        {version && (
          <p class="flash">
            <Phrase text="This is an older version. {link}" link={<a href={at}>{t('The page as it is now')}</a>} />
          </p>
        )}
        <section class="box">
          {html === null ? (
            <pre class="plain">
              <LongText text={content} />
            </pre>
          ) : (
            <Prose html={html || '<p></p>'} />
          )}
        </section>
        {commit && (
          <p class="dim">
            <Phrase text="Last changed by {name}, {time}" name={commit.author.name} time={<Time at={momentOf(commit.author)} />} />
          </p>
        )}
      </Frame>
    ),
  }
}

const fields = z.object({ title: orDefault(documented.wikiTitle(), ''), content: orDefault(str(), ''), message: orDefault(str(), '') })

const newPage = z.object({ wiki: fields })

const NewForm = ({ view, subject, title }: { view: PageView; subject: ProjectSubject; title?: string | undefined }) => {
  const f = fieldsOf(view, newPage).wiki
  return (
    <EditorForm view={view} action={within(subject)} once>
      <FormFaults view={view} />
      <Field {...f.title} label={t('Title')} value={title} hint={t('Slashes make folders.')} />
      <Editor {...f.content} label={t('Content')} rows={18} hint={t('Markdown.')} project={subject} />
      <Field {...f.message} label={t('Message')} hint={t('What you have done; empty for the usual text.')} />
      <Submit label={t('Create page')} />
    </EditorForm>
  )
}

function mustWrite({ caller, subject }: At): void {
  if (!caller.user) throw unauthenticated()
  if (!subject.can('write_wiki')) throw forbidden()
}

const changedPage = z.object({ version: orDefault(str(), ''), wiki: fields })

async function showEdit(given: At, slug: string): Promise<Answer> {
  mustWrite(given)
  const { ctx, caller, subject, view } = given
  const found = await findShownPage(ctx, subject, slug)
  if (!found) throw notFound('Wiki Page')
  const at = addressOf(subject, slug)
  const opened = typed(view, 'version')
  const f = fieldsOf(view, changedPage)
  return {
    title: `${t('Edit {titleOfSlug}', { titleOfSlug: titleOfSlug(slug) })} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
    body: (
      <Frame view={view} subject={subject} beside={await sidebarOf(ctx, caller, subject, found)} current={slug}>
        <h1>
          <Phrase text="Edit {titleOfSlug}" titleOfSlug={titleOfSlug(slug)} />
        </h1>
        <EditorForm view={view} action={at} method="PUT">
          <FormFaults view={view} />
          <Hidden {...f.version} value={found.oid} />
          {opened !== undefined && opened !== found.oid && (
            <section class="box stale">
              <h2 class="head">{t('Somebody else has saved this meanwhile')}</h2>
              <div class="note">
                <p>{t('Below is what they saved. Your text stands in the form: take over what you need, and save again, which replaces theirs.')}</p>
                <div class="field">
                  <label for="saved_content">{t('Content, as saved')}</label>
                  <textarea id="saved_content" readOnly rows={12}>
                    <LongText text={`\n${found.content}`} />
                  </textarea>
                </div>
              </div>
            </section>
          )}
          <Field {...f.wiki.title} label={t('Title')} value={typedTitle(slug)} hint={t('Another title moves the page.')} />
          <Editor {...f.wiki.content} label={t('Content')} value={found.content} rows={18} hint={t('Markdown.')} project={subject} />
          <Field {...f.wiki.message} label={t('Message')} hint={t('What you have done; empty for the usual text.')} />
          <Submit label={t('Save changes')} />
        </EditorForm>
        {subject.can('delete_wiki_page') && (
          <>
            <h2>{t('Delete')}</h2>
            <ActionButton view={view} action={at} method="DELETE" label={t('Delete page')} class="danger" />
          </>
        )}
      </Frame>
    ),
  }
}

async function showHistory({ ctx, caller, subject, view }: At, slug: string, number: number): Promise<Answer> {
  const [found, { items, total }] = await Promise.all([
    findShownPage(ctx, subject, slug),
    listWikiVersions(ctx, subject, slug, { page: number, per_page: PER_PAGE }),
  ])
  const at = view.links.prefix + addressOf(subject, slug)
  return {
    title: `${t('History of {titleOfSlug}', { titleOfSlug: titleOfSlug(slug) })} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
    body: (
      <Frame view={view} subject={subject} beside={found ? await sidebarOf(ctx, caller, subject, found) : NOTHING_BESIDE} current={slug}>
        <h1>
          <Phrase text="History of {link}" link={<a href={at}>{titleOfSlug(slug)}</a>} />
        </h1>
        <form method="get" action={`${at}/diff`}>
          <Rows empty={t('There are no versions.')}>
            {items.map((commit, i) => (
              <Row
                key={commit.oid}
                actions={
                  <>
                    <a href={`${at}?version_id=${commit.oid}`} aria-label={t('View version {oid}', { oid: commit.oid.slice(0, 8) })}>
                      {t('View')}
                    </a>
                    <a href={`${at}/diff?version_id=${commit.oid}`} aria-label={t('Changes of version {oid}', { oid: commit.oid.slice(0, 8) })}>
                      {t('Changes')}
                    </a>
                  </>
                }
              >
                <span>{commit.message.split('\n', 1)[0]}</span>
                <span class="dim">
                  <code>{commit.oid.slice(0, 8)}</code> · {commit.author.name}, <Time at={momentOf(commit.author)} />
                  {items.length > 1 && (
                    <>
                      {' · '}
                      <label>
                        <input type="radio" name="from" value={commit.oid} checked={i === Math.min(1, items.length - 1)} /> {t('from')}
                      </label>{' '}
                      <label>
                        <input type="radio" name="version_id" value={commit.oid} checked={i === 0} /> {t('to')}
                      </label>
                    </>
                  )}
                </span>
              </Row>
            ))}
          </Rows>
          {items.length > 1 && <button type="submit">{t('Compare versions')}</button>}
        </form>
        <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
      </Frame>
    ),
  }
}

async function showDiff(
  { ctx, caller, subject, view }: At,
  slug: string,
  { version_id: to, from }: { version_id?: string | undefined; from?: string | undefined },
): Promise<Answer> {
  if (!to) throw notFound()
  const [found, diff] = await Promise.all([findShownPage(ctx, subject, slug), compareWikiPage(ctx, subject, slug, { from, to })])
  const at = view.links.prefix + addressOf(subject, slug)
  const lines = diff ? linesOf(diff.diff).slice(0, MAX_DIFF_LINES) : []
  return {
    title: `${t('Changes of {titleOfSlug}', { titleOfSlug: titleOfSlug(slug) })} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
    body: (
      <Frame view={view} subject={subject} beside={found ? await sidebarOf(ctx, caller, subject, found) : NOTHING_BESIDE} current={slug}>
        <h1>
          <Phrase text="Changes of {link}" link={<a href={at}>{titleOfSlug(slug)}</a>} />
        </h1>
        <p class="dim">
          {from ? (
            <Phrase text="From {from} to {to}" from={<code>{from.slice(0, 8)}</code>} to={<code>{to.slice(0, 8)}</code>} />
          ) : (
            <Phrase text="Made by {to}" to={<code>{to.slice(0, 8)}</code>} />
          )}
          {' · '}
          <a href={`${at}/history`}>{t('History')}</a>
        </p>
        {lines.length === 0 ? (
          <p class="empty">{t('The text is the same, or is too long to be compared.')}</p>
        ) : (
          <div class="box diff">
            {haveHidden(lines) && <HiddenNotice of={t('This change')} />}
            <table class="lines">
              <tbody>
                {lines.map((line, i) => (
                  <tr key={i} class={line.kind}>
                    <td class="number" data-number={line.old ?? ''} />
                    <td class="number" data-number={line.new ?? ''} />
                    <td class="code" data-sign={line.kind === 'added' ? '+' : line.kind === 'removed' ? '-' : ' '}>
                      <CodeText text={line.text} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Frame>
    ),
  }
}

export const wikiHome = page({
  at: 'P/-/wikis',
  access: onProject('read_wiki'),
  show: async ({ subject }) => new Redirect(addressOf(subject, 'home')),
})

export const wikiList = page({
  at: 'P/-/wikis/pages',
  access: onProject('read_wiki'),
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listWikiPages(ctx, subject, { with_content: false, page: input.page, per_page: PER_PAGE })
    const at = view.links.prefix + within(subject)
    return {
      title: `${t('Pages')} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
      body: (
        <Frame view={view} subject={subject} beside={NOTHING_BESIDE}>
          <h1>{t('All pages')}</h1>
          <Rows empty={t('This wiki has no pages yet.')}>
            {items.map(({ slug, format }) => (
              <Row key={slug}>
                <a href={`${at}/${inUrl(slug)}`}>{titleOfSlug(slug)}</a>
                <span class="dim">
                  {slug}
                  {format !== 'markdown' && ` · ${format}`}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </Frame>
      ),
    }
  },
})

export const wikiClone = page({
  at: 'P/-/wikis/git_access',
  access: onProject('read_wiki'),
  async show({ subject, view }) {
    const path = `${fullPathOf(subject.project)}.wiki`
    return {
      title: `${t('Clone')} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
      body: (
        <Frame view={view} subject={subject} beside={NOTHING_BESIDE}>
          <h1>{t('Clone the wiki')}</h1>
          <p>{t('The pages are files of a repository of their own. Push to it to change them.')}</p>
          <pre>
            <code>git clone {view.links.http(path)}</code>
          </pre>
          {view.links.ssh(path) !== view.links.http(path) && (
            <pre>
              <code>git clone {view.links.ssh(path)}</code>
            </pre>
          )}
        </Frame>
      ),
    }
  },
})

export const newWikiPage = page({
  at: 'P/-/wikis/new',
  access: onProjectSignedIn('write_wiki'),
  input: z.object({ title: opt(str()) }),
  async show({ subject, input, view }) {
    return {
      title: `${t('New page')} · ${t('Wiki')} · ${fullPathOf(subject.project)}`,
      body: (
        <Frame view={view} subject={subject} beside={NOTHING_BESIDE}>
          <h1>{t('New page')}</h1>
          <NewForm view={view} subject={subject} title={input.title} />
        </Frame>
      ),
    }
  },
})

export const wikiCreation = form({
  at: 'P/-/wikis',
  files: true,
  access: onProjectSignedIn('write_wiki'),
  input: newPage,
  on: newWikiPage,
  async submit({ ctx, caller, subject, input: { wiki } }) {
    const made = await createWikiPage(ctx, subject, caller, { ...wiki, message: wiki.message.trim() })
    return new Redirect(addressOf(subject, made.slug), { notice: t('Page created.') })
  },
})

/** The page of the form below, whose address is that of the page that is edited. */
const editing = page({
  at: 'P/-/wikis/*',
  access: onProjectSignedIn('write_wiki'),
  input: z.object({ path: str() }),
  show: ({ ctx, caller, subject, input, view }) => showEdit({ ctx, caller, subject, view }, input.path),
})

export const wikiChange = form({
  at: 'P/-/wikis/*',
  method: 'PUT',
  files: true,
  access: onProjectSignedIn('write_wiki'),
  input: changedPage.extend({ path: str() }),
  on: editing,
  async submit({ ctx, caller, subject, input: { path, version, wiki } }) {
    const check = (blob: string) => {
      if (blob !== version) throw conflict(t('Somebody else has saved this since you opened it'))
    }
    // a file that was pushed may have spaces in its name, which no title makes
    const title = wiki.title.trim() === typedTitle(path).trim() ? undefined : wiki.title
    const changed = await updateWikiPage(ctx, subject, caller, path, { ...wiki, title, message: wiki.message.trim(), check })
    return new Redirect(addressOf(subject, changed.slug), { notice: t('Page updated.') })
  },
})

export const wikiRemoval = form({
  at: 'P/-/wikis/*',
  method: 'DELETE',
  access: onProjectSignedIn('delete_wiki_page'),
  input: z.object({ path: str() }),
  async submit({ ctx, caller, subject, input }) {
    await deleteWikiPage(ctx, subject, caller, input.path)
    return new Redirect(`${within(subject)}/pages`, { notice: t('Page deleted.') })
  },
})
