import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import type { Caller, SignedIn } from '../../../access/actor.js'
import { pathNumber } from '../../../access/path-number.js'
import { anyone, fullPathOf, onProjectSignedIn, type ProjectSubject, signedIn } from '../../../access/rules.js'
import { onSnippetSignedIn, type SnippetSubject } from '../../../access/snippets.js'
import type { Context } from '../../../context.js'
import { Failure, notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { oneOf, orDefault, paging, str } from '../../../http/params.js'
import { VISIBILITIES } from '../../../rules/visibility.js'
import {
  createSnippet,
  deleteSnippet,
  getProjectSnippet,
  getSnippet,
  type ListedSnippet,
  listOwnSnippets,
  listProjectSnippets,
  listPublicSnippets,
  requireOwner,
  requireProjectEditor,
  type SnippetRecord,
  updateSnippet,
} from '../../../services/content/snippets.js'
import { isFeatureOn } from '../../../services/core/instance-features.js'
import { listAwards } from '../../../services/notes/award-emoji.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutSnippet } from '../../../services/notes/noteables.js'
import { CommentForm } from '../../components/discussion/comment-form.js'
import { Discussions } from '../../components/discussion/discussion.js'
import { noteForms, reactionForm } from '../../components/discussion/forms.js'
import { discussionInput, discussionParts } from '../../components/discussion/load.js'
import { Reactions } from '../../components/discussion/reactions.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { checkVersion, Version } from '../../components/editor/version.js'
import { anyHidden, Lines } from '../../components/files/code.js'
import { ActionButton, Field, FormFaults, SelectField, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { HiddenNotice, Prose } from '../../components/markup.js'
import { PersonLink } from '../../components/people/person-link.js'
import { renderText } from '../../components/render-text.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const PER_PAGE = 20
const NOTES_PER_PAGE = 100
const MAX_LINES = 20_000
const levelNames = (): Record<number, string> => ({ 0: t('Private'), 10: t('Internal'), 20: t('Public') })
const LEVELS = { 0: 'private', 10: 'internal', 20: 'public' } as const

const SnippetRows = ({ view, items, to, empty }: { view: PageView; items: ListedSnippet[]; to: (id: number) => string; empty: string }) => (
  <Rows empty={empty}>
    {items.map(({ snippet, author }) => (
      <Row key={snippet.id} actions={<Badge>{levelNames()[snippet.visibility]}</Badge>}>
        <a href={view.links.prefix + to(snippet.id)} class="title">
          <strong>{snippet.title}</strong>
        </a>
        <span class="dim">
          {snippet.file_name && `${snippet.file_name} · `}
          {author.name}, <Time at={snippet.created_at} />
        </span>
      </Row>
    ))}
  </Rows>
)

const Fields = ({ view, snippet, project }: { view: PageView; snippet?: SnippetRecord['snippet']; project: ProjectSubject | null }) => {
  const f = fieldsOf(view, created).snippet
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.title} label={t('Title')} value={snippet?.title} autofocus />
      <Editor {...f.description} label={t('Description')} value={snippet?.description} rows={4} hint={t('Markdown.')} project={project} />
      <Field {...f.file_name} label={t('File name')} value={snippet?.file_name} hint={t('Its ending says the language.')} />
      <TextField {...f.content} label={t('Content')} value={snippet?.content} rows={18} class="code" spellcheck={false} />
      <SelectField
        {...f.visibility_level}
        label={t('Visibility')}
        value={LEVELS[(snippet?.visibility ?? 0) as keyof typeof LEVELS]}
        choices={[
          { value: 'private', label: project ? t('Private: members of the project') : t('Private: you alone') },
          { value: 'internal', label: t('Internal: everyone who is signed in') },
          { value: 'public', label: t('Public: everyone') },
        ]}
      />
    </>
  )
}

const fields = z.object({
  title: orDefault(documented.title(), ''),
  file_name: orDefault(str(), ''),
  content: orDefault(documented.filled(), ''),
  description: orDefault(str(), ''),
  visibility_level: orDefault(oneOf(VISIBILITIES), 'private'),
})
const created = z.object({ snippet: fields })
const inputOf = ({ visibility_level: visibility, ...rest }: z.infer<typeof fields>) => ({ ...rest, visibility })

const VersionOf = ({ view, snippet }: { view: PageView; snippet: SnippetRecord['snippet'] }) => (
  <Version
    {...fieldsOf(view, changed).version}
    texts={[
      { label: t('Title'), text: snippet.title },
      { label: t('Description'), text: snippet.description },
      { label: t('Content'), text: snippet.content },
    ]}
  />
)

const isAllowed = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

/** The lines of a snippet, with marks if its language is known. */
async function linesOf(ctx: Context, { content, file_name }: SnippetRecord['snippet']) {
  const lines = content.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const language = file_name.toLowerCase().slice(file_name.lastIndexOf('.') + 1)
  const isShort = lines.length <= MAX_LINES
  const marked = isShort && (await isFeatureOn(ctx, 'code_highlighting')) ? await ctx.cpu.highlighter.lines(lines.join('\n'), language) : null
  const shown = lines.slice(0, MAX_LINES)
  return { lines: shown, marked, isCut: lines.length > MAX_LINES, hidden: await ctx.cpu.slices.steps(() => anyHidden(shown)) }
}

interface ShownProps {
  view: PageView
  record: SnippetRecord
  html: string
  code: Awaited<ReturnType<typeof linesOf>>
  /** With the prefix of the service. */
  at: string
  /** Without it. */
  action: string
  mayEdit: boolean
}

const Shown = ({ view, record: { snippet, author }, html, code, at, action, mayEdit }: ShownProps) => (
  <>
    <div class="heading">
      <h1>
        {snippet.title} <span class="dim">${snippet.id}</span>
      </h1>
      {mayEdit && (
        <div class="row start">
          <a class="button" href={`${at}/edit`}>
            {t('Edit')}
          </a>
          <ActionButton view={view} action={action} method="DELETE" label={t('Delete snippet')} class="danger" />
        </div>
      )}
    </div>
    <p class="dim">
      <Phrase
        text="{badge} by {personLink}, {time}"
        badge={<Badge>{levelNames()[snippet.visibility]}</Badge>}
        personLink={<PersonLink view={view} user={author} />}
        time={<Time at={snippet.created_at} />}
      />
    </p>
    {html && <Prose html={html} />}
    <div class="box file">
      <p class="head">
        <span class="grow">{snippet.file_name || t('Content')}</span>
        <span class="dim">
          {plural(code.lines.length, '{count} line', '{count} lines')} · <a href={`${at.replace('/-/snippets', '/snippets')}/raw`}>{t('Raw')}</a>
        </span>
      </p>
      {code.hidden && <HiddenNotice of={t('This snippet')} />}
      <Lines lines={code.lines} marked={code.marked} />
    </div>
    {code.isCut && (
      <p class="dim">
        <Phrase text="Only the first {maxlines} lines are shown. The raw text has all." maxlines={MAX_LINES} />
      </p>
    )}
  </>
)

// Snippets of people

const personalAt = (id: number) => `/-/snippets/${id}`

/** A snippet of a person that the caller may see. */
const onPersonal = <Signed extends boolean>(signed: Signed, own: boolean): Access<SnippetRecord, Signed> => ({
  rule: own ? 'signed in, own snippet' : 'anyone, personal snippet',
  signedIn: signed,
  early: true,
  path: z.object({ id: z.string() }),
  async find(ctx, caller: Caller, params) {
    const id = pathNumber(params['id'] as string)
    if (id === null) throw notFound(t('Snippet'))
    const found = await getSnippet(ctx, caller, id)
    if (own) requireOwner(caller as SignedIn, found)
    return found
  },
})

export const snippetsHome = page({
  at: '/-/snippets',
  formerly: ['/snippets'],
  robots: 'disallow',
  access: anyone,
  show: async ({ view }) => new Redirect(view.viewer ? '/dashboard/snippets' : '/explore/snippets'),
})

const listed = (at: string, title: () => string, load: typeof listOwnSnippets, empty: () => string) =>
  page({
    at,
    access: signedIn,
    ownerOnly: false,
    input: z.object({ page: paging.page }),
    async show({ ctx, caller, input, view }) {
      const { items, total } = await load(ctx, caller, { page: input.page, per_page: PER_PAGE })
      return {
        title: title(),
        body: (
          <>
            <div class="heading">
              <h1>{title()}</h1>
              {!caller.user.external && (
                <a class="button primary" href={`${view.links.prefix}/-/snippets/new`}>
                  {t('New snippet')}
                </a>
              )}
            </div>
            <nav class="tabs" aria-label={t('Snippets')}>
              {[
                ['/dashboard/snippets', t('Yours')],
                ['/explore/snippets', t('Explore')],
              ].map(([path, label]) => (
                <a key={path} href={view.links.prefix + path} {...(path === at && { 'aria-current': 'page' })}>
                  {label}
                </a>
              ))}
            </nav>
            <SnippetRows view={view} items={items} to={personalAt} empty={empty()} />
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          </>
        ),
      }
    },
  })

export const ownSnippetsPage = listed(
  '/dashboard/snippets',
  () => t('Your snippets'),
  listOwnSnippets,
  () => t('You have no snippets yet.'),
)
export const publicSnippetsPage = listed(
  '/explore/snippets',
  () => t('Public snippets'),
  listPublicSnippets,
  () => t('There are no public snippets yet.'),
)

export const personalSnippetPage = page({
  at: '/-/snippets/:id',
  formerly: ['/snippets/:id'],
  access: onPersonal(false, false),
  async show({ ctx, caller, subject, view }) {
    const { snippet } = subject
    const mayEdit = caller.user !== null && isAllowed(() => requireOwner(caller as SignedIn, subject))
    const [html, code] = await Promise.all([renderText(ctx, caller, null, snippet.description), linesOf(ctx, snippet)])
    const action = personalAt(snippet.id)
    const shown = { view, record: subject, html, code, at: view.links.prefix + action, action, mayEdit }
    return { title: `${snippet.title} · ${t('Snippets')}`, body: <Shown {...shown} /> }
  },
})

export const newPersonalPage = page({
  at: '/-/snippets/new',
  formerly: ['/snippets/new'],
  access: signedIn,
  ownerOnly: false,
  async show({ view }) {
    return {
      title: t('New snippet'),
      body: (
        <>
          <h1>{t('New snippet')}</h1>
          <EditorForm view={view} action="/-/snippets" once>
            <Fields view={view} project={null} />
            <Submit label={t('Create snippet')} />
          </EditorForm>
        </>
      ),
    }
  },
})

export const newPersonal = form({
  at: '/-/snippets',
  access: signedIn,
  ownerOnly: false,
  input: created,
  files: true,
  on: newPersonalPage,
  async submit({ ctx, caller, input: { snippet } }) {
    const id = await createSnippet(ctx, caller, null, inputOf(snippet))
    return new Redirect(personalAt(id), { notice: t('Snippet created.') })
  },
})

export const editPersonalPage = page({
  at: '/-/snippets/:id/edit',
  formerly: ['/snippets/:id/edit'],
  access: onPersonal(true, true),
  async show({ subject: { snippet }, view }) {
    return {
      title: t('Edit {title}', { title: snippet.title }),
      body: (
        <>
          <h1>{t('Edit snippet')}</h1>
          <EditorForm view={view} action={personalAt(snippet.id)} method="PUT">
            <VersionOf view={view} snippet={snippet} />
            <Fields view={view} snippet={snippet} project={null} />
            <Submit label={t('Save changes')} />
          </EditorForm>
        </>
      ),
    }
  },
})

const changed = z.object({ snippet: fields, version: orDefault(str(), '') })
const checkSnippet = (version: string, { title, description, content }: SnippetRecord['snippet']) =>
  checkVersion(version, title, description, content)

export const personalChange = form({
  at: '/-/snippets/:id',
  method: 'PUT',
  access: onPersonal(true, true),
  input: changed,
  files: true,
  on: editPersonalPage,
  async submit({ ctx, caller, subject, input }) {
    checkSnippet(input.version, subject.snippet)
    await updateSnippet(ctx, caller, subject, inputOf(input.snippet))
    return new Redirect(personalAt(subject.snippet.id), { notice: t('Snippet updated.') })
  },
})

export const personalRemoval = form({
  at: '/-/snippets/:id',
  method: 'DELETE',
  access: onPersonal(true, true),
  async submit({ ctx, subject }) {
    await deleteSnippet(ctx, subject)
    return new Redirect('/dashboard/snippets', { notice: t('Snippet deleted.') })
  },
})

// Snippets of projects

const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/snippets`
const addressOf = (subject: SnippetSubject) => `${within(subject)}/${subject.snippet.id}`

export const projectSnippetsPage = page({
  at: 'P/-/snippets',
  access: onProjectSignedIn('read_snippet'),
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listProjectSnippets(ctx, subject, caller, { page: input.page, per_page: PER_PAGE })
    return {
      title: `${t('Snippets')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="snippets">
          <div class="heading">
            <h1>{t('Snippets')}</h1>
            {subject.can('create_snippet') && (
              <a class="button primary" href={projectLinks(view, fullPathOf(subject.project)).page('snippets/new')}>
                {t('New snippet')}
              </a>
            )}
          </div>
          <SnippetRows view={view} items={items} to={(id) => `${within(subject)}/${id}`} empty={t('There are no snippets that you may see.')} />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const projectSnippetPage = page({
  at: 'P/-/snippets/:snippet_id',
  access: onSnippetSignedIn('read_snippet'),
  input: z.object({ page: paging.page, ...discussionInput }),
  async show({ ctx, caller, subject, input, view }) {
    const about = aboutSnippet(subject)
    const { noteable } = about
    const record = await getProjectSnippet(ctx, subject, caller, subject.snippet.id)
    const { snippet } = record
    const [html, code, awards, { items: discussions, total }] = await Promise.all([
      renderText(ctx, caller, subject, snippet.description),
      linesOf(ctx, snippet),
      listAwards(ctx, { type: 'Snippet', id: snippet.id, noteable }, { page: 1, per_page: 100 }),
      listDiscussions(ctx, caller, noteable, { page: input.page, per_page: NOTES_PER_PAGE }),
    ])
    const action = addressOf(subject)
    const mayEdit = isAllowed(() => requireProjectEditor(subject, caller, record))
    const mayNote = subject.can('create_note')
    return {
      title: `${snippet.title} · ${t('Snippets')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="snippets">
          <Shown view={view} record={record} html={html} code={code} at={view.links.prefix + action} action={action} mayEdit={mayEdit} />
          <Reactions view={view} awards={awards.items} toggleAt={subject.can('award_emoji') ? `${action}/toggle_award_emoji` : null} />
          <h2>{t('Discussion')}</h2>
          <Discussions
            view={view}
            discussions={discussions}
            {...(await discussionParts(ctx, caller, about, { at: action, discussions, asked: input }))}
          />
          <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
          {mayNote && <CommentForm view={view} at={action} project={subject} discussions={discussions} hint={t('Markdown.')} />}
        </ProjectLayout>
      ),
    }
  },
})

const commented = { at: projectSnippetPage.at, access: onSnippetSignedIn, on: projectSnippetPage, about: aboutSnippet, addressOf }
export const snippetNotes = [...noteForms(commented), reactionForm(commented)]

export const newProjectSnippetPage = page({
  at: 'P/-/snippets/new',
  access: onProjectSignedIn('create_snippet'),
  async show({ subject, view }) {
    return {
      title: `${t('New snippet')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="snippets">
          <h1>{t('New snippet')}</h1>
          <EditorForm view={view} action={within(subject)} once>
            <Fields view={view} project={subject} />
            <Submit label={t('Create snippet')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const newProjectSnippet = form({
  at: 'P/-/snippets',
  files: true,
  access: onProjectSignedIn('create_snippet'),
  input: created,
  on: newProjectSnippetPage,
  async submit({ ctx, caller, subject, input: { snippet } }) {
    const id = await createSnippet(ctx, caller, subject, inputOf(snippet))
    return new Redirect(`${within(subject)}/${id}`, { notice: t('Snippet created.') })
  },
})

/** A snippet of a project that the caller may change. */
const onEdited: Access<SnippetSubject & { record: SnippetRecord }, true> = {
  ...onSnippetSignedIn('read_snippet'),
  rule: 'signed in, snippet: its author or manage_snippets',
  async find(ctx, caller, params) {
    const subject = await onSnippetSignedIn('read_snippet').find(ctx, caller, params)
    const record = await getProjectSnippet(ctx, subject, caller, subject.snippet.id)
    requireProjectEditor(subject, caller, record)
    return { ...subject, record }
  },
}

export const editProjectSnippetPage = page({
  at: 'P/-/snippets/:snippet_id/edit',
  access: onEdited,
  async show({ subject, view }) {
    const { snippet } = subject
    return {
      title: `${t('Edit {title}', { title: snippet.title })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="snippets">
          <h1>{t('Edit snippet')}</h1>
          <EditorForm view={view} action={addressOf(subject)} method="PUT">
            <VersionOf view={view} snippet={snippet} />
            <Fields view={view} snippet={snippet} project={subject} />
            <Submit label={t('Save changes')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const projectSnippetChange = form({
  at: 'P/-/snippets/:snippet_id',
  method: 'PUT',
  files: true,
  access: onEdited,
  input: changed,
  on: editProjectSnippetPage,
  async submit({ ctx, caller, subject, input }) {
    checkSnippet(input.version, subject.snippet)
    await updateSnippet(ctx, caller, subject.record, inputOf(input.snippet))
    return new Redirect(addressOf(subject), { notice: t('Snippet updated.') })
  },
})

export const projectSnippetRemoval = form({
  at: 'P/-/snippets/:snippet_id',
  method: 'DELETE',
  access: onEdited,
  async submit({ ctx, subject }) {
    await deleteSnippet(ctx, subject.record)
    return new Redirect(within(subject), { notice: t('Snippet deleted.') })
  },
})
