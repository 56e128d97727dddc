import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, tooLarge } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, str } from '../../../http/params.js'
import { configurationPath } from '../../../services/ci/includes.js'
import { lintForProject } from '../../../services/ci/lint.js'
import { type FileKind, getFileTemplate, getLicense } from '../../../services/content/templates.js'
import { isMarkdown } from '../../../services/markdown/relative.js'
import { ConfigurationCheck } from '../../components/ci/check.js'
import { editTable } from '../../components/diff/excerpts.js'
import { EditorForm } from '../../components/editor/editor.js'
import { Field, FormFaults, Hidden, Submit, TextField, typed } from '../../components/form.js'
import { HiddenNotice, Prose, Rendered } from '../../components/markup.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { branchOf, CommitFields, commit, commitAction, fileOf, MAX_EDITED, onCode, StaleFile, textOf, within } from './committing.js'
import { renderFile } from './readme.js'
import type { Place } from './revision.js'

/** How the text of a form is shown, by the buttons above it. */
type Show = 'text' | 'changes' | 'check' | null

const showOf = (view: PageView): Show => {
  const show = typed(view, 'show')
  return show === 'text' || show === 'changes' || show === 'check' ? show : null
}

const shownTexts = () => ({ text: t('Preview'), changes: t('Changes'), check: t('Check') }) as const

/** The button of a file that CI reads. */
const checkOf = ({ project }: ProjectSubject, path: string) => (path === configurationPath(project) ? [['check', t('Check')] as const] : [])

/** The lines of a file keep their ends. */
const withEndsOf = (before: string, text: string) => (before.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text)

interface Edited {
  place: Place
  path: string
  text: string
  /** The stored file; null for a new one. */
  before: string | null
}

/** The text of the form as a reader will see it, what it changes, or what it means to CI (WB-640, WB-750). */
async function shownText(ctx: Context, caller: Caller, subject: ProjectSubject, show: Show, { place, path, text, before }: Edited) {
  if (show === null) return null
  if (text.length > 2 * MAX_EDITED) throw tooLarge()
  if (show === 'check') return <ConfigurationCheck record={await lintForProject(ctx, caller, subject, { content: text, include_jobs: true })} />
  if (show === 'text' && isMarkdown(path)) {
    const html = await renderFile(ctx, caller, subject, { ...place, path }, text)
    return html === '' ? <p class="note dim">{t('Nothing to show.')}</p> : <Prose html={html} />
  }
  if (show === 'text' || before === null) return <p class="note dim">{t('Only Markdown looks different from its text.')}</p>
  const table = await editTable(ctx, place.repository, { path: place.path, text: before }, { path, text: withEndsOf(before, text) })
  if (!table) return <p class="note dim">{t('These are too many changes to be shown here.')}</p>
  if (table.rows === '') return <p class="note dim">{t('Nothing is changed.')}</p>
  return (
    <div class="diff">
      {table.hidden && <HiddenNotice of={t('This change')} />}
      <Rendered class="lines" rows={table.rows} />
    </div>
  )
}

/** Said where the editor is. */
const keys = () => t('Tab indents; Esc, then Tab, leaves the editor. Ctrl+F finds.')

interface TextProps {
  control: Parameters<typeof TextField>[0]
  show: Show
  shown: ComponentChildren
  /** The field with the name of the file, by which its language is known, and what stands before that name. */
  name: string
  path: string
  views: readonly (readonly [string, string])[]
}

/** The text of a file, with what else it looks like above it. */
const FileText = ({ control, show, shown, name, path, views }: TextProps) => (
  <>
    <p class="views group">
      {([['', t('Edit')], ...views] as const).map(([value, label]) => (
        <button type="submit" key={value} name="show" value={value} formnovalidate {...(value === (show ?? '') && { 'aria-current': 'true' })}>
          {label}
        </button>
      ))}
    </p>
    <div id="shown">
      {show !== null && (
        <section class="box" aria-label={shownTexts()[show]}>
          {shown}
        </section>
      )}
    </div>
    <TextField
      {...control}
      rows={24}
      class="code"
      spellcheck={false}
      hint={<span class="scripted">{keys()}</span>}
      attributes={{ 'data-code': true, 'data-name': name, 'data-path': path }}
    />
  </>
)

const edited = z.object({
  file_path: orDefault(documented.filled(), ''),
  content: opt(str()),
  last_commit_sha: orDefault(str(), ''),
  ...commit.shape,
})

export const editPage = page({
  at: 'P/-/edit/*',
  robots: 'disallow',
  access: onCode,
  input: z.object({ path: str() }),
  async show({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { path, branch, links } = place
    const { oid, last } = await fileOf(place)
    const text = await textOf(place, oid)
    // what is no text has nothing to edit
    if (text === null) return new Redirect(links.replace(branch, path).slice(view.links.prefix.length))
    const f = fieldsOf(view, edited)
    const show = showOf(view)
    const [path_now, text_now] = [typed(view, f.file_path.name) || path, typed(view, f.content.name) ?? text]
    const shown = await shownText(ctx, caller, subject, show, { place, path: path_now, text: text_now, before: text })
    const views = [
      ...(isMarkdown(path_now) ? [['text', t('Preview')] as const] : []),
      ['changes', t('Preview changes')] as const,
      ...checkOf(subject, path_now),
    ]
    return {
      title: `${t('Edit {path}', { path })} · ${fullPathOf(subject.project)}`,
      module: 'editor',
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>
            <Phrase text="Edit {path}" path={path} />
          </h1>
          <EditorForm view={view} action={`${within(subject)}/update/${inUrl(branch)}/${inUrl(path)}`} method="PUT">
            <FormFaults view={view} />
            {view.submitted !== null && typed(view, 'last_commit_sha') !== last && <StaleFile place={place} />}
            <Hidden {...f.last_commit_sha} value={last} />
            <Field {...f.file_path} label={t('Path')} value={path} hint={t('Another path renames the file.')} />
            <FileText
              control={{ ...f.content, label: t('Content'), value: text }}
              show={show}
              shown={shown}
              name={f.file_path.name}
              path=""
              views={views}
            />
            <CommitFields view={view} message={`Update ${path}`} branch={branch} />
            <p class="row start">
              <Submit label={t('Commit changes')} />
              <a href={links.blob(branch, path)}>{t('Cancel')}</a>
            </p>
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const editForm = form({
  at: 'P/-/update/*',
  method: 'PUT',
  access: onCode,
  input: edited.extend({ path: str() }),
  files: true,
  on: editPage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const text = await textOf(place, (await fileOf(place)).oid)
    const { file_path, last_commit_sha: last_commit_id } = input
    const kept = input.content === undefined ? null : withEndsOf(text ?? '', input.content)
    if (kept === null && file_path === place.path) throw invalidRecord({ file_path: ['is the same as before'] })
    // in text the ends of lines would be made one
    const content = kept !== null && { content: Buffer.from(kept).toString('base64'), encoding: 'base64' }
    const action =
      file_path === place.path
        ? { action: 'update', file_path, ...content, last_commit_id }
        : { action: 'move', file_path, previous_path: place.path, ...content, last_commit_id }
    await commitAction(ctx, subject, caller, place, { ...input, action })
    return new Redirect(`${within(subject)}/blob/${inUrl(input.branch_name)}/${inUrl(file_path)}`, {
      notice: t('Your change is on the branch {branchName}.', { branchName: input.branch_name }),
    })
  },
})

const created = z.object({ file_name: orDefault(documented.filled(), ''), content: orDefault(str(), ''), ...commit.shape })

type Template = { key: string; kind: FileKind | 'licenses'; label: string; file: string }
const license = (key: string, label: string): Template => ({ key, kind: 'licenses', label, file: 'LICENSE' })
const ignored = (key: string): Template => ({ key, kind: 'gitignores', label: `.gitignore for ${key}`, file: '.gitignore' })
/** Those that most projects begin with; the API has all. */
const FILE_TEMPLATES: readonly Template[] = [
  license('mit', 'MIT License'),
  license('apache-2.0', 'Apache License 2.0'),
  license('gpl-3.0', 'GNU GPLv3'),
  license('bsd-3-clause', 'BSD 3-Clause License'),
  ...['Node', 'Python', 'Go', 'Rust', 'Java', 'C++'].map(ignored),
]

async function contentOf(ctx: Context, { project }: ProjectSubject, { kind, key }: Template): Promise<string> {
  if (kind !== 'licenses') return (await getFileTemplate(kind, key)).content
  return (await getLicense(ctx, key, { project: project.name, fullname: project.namespace.name })).content
}

export const newFilePage = page({
  at: 'P/-/new/*',
  robots: 'disallow',
  access: onCode,
  input: z.object({ path: str(), file_name: opt(str()), template: opt(str()) }),
  async show({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { path, branch, links } = place
    const template = FILE_TEMPLATES.find(({ key }) => key === input.template)
    const content = template && (await contentOf(ctx, subject, template))
    const f = fieldsOf(view, created)
    const show = showOf(view)
    const name = typed(view, f.file_name.name) ?? template?.file ?? input.file_name ?? ''
    const file = path ? `${path}/${name}` : name
    const text = typed(view, f.content.name) ?? content ?? ''
    const shown = await shownText(ctx, caller, subject, show, { place, path: file, text, before: null })
    return {
      title: `${t('New file')} · ${fullPathOf(subject.project)}`,
      module: 'editor',
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <div class="heading">
            <h1>
              {t('New file')} {path && t('in {path}', { path })}
            </h1>
            <a class="button" href={links.upload(branch, path)}>
              {t('Upload a file')}
            </a>
          </div>
          {path === '' && (
            <p class="dim">
              <Phrase
                text="From a template: {filetemplates}"
                filetemplates={FILE_TEMPLATES.map(({ key, label }, i) => (
                  <>
                    {i > 0 && ' · '}
                    <a key={key} href={`${links.newFile(branch)}?template=${inUrl(key)}`} {...(key === input.template && { 'aria-current': 'true' })}>
                      {label}
                    </a>
                  </>
                ))}
              />
            </p>
          )}
          <EditorForm view={view} action={`${within(subject)}/create/${inUrl(branch)}${path && `/${inUrl(path)}`}`}>
            <FormFaults view={view} />
            <Field
              {...f.file_name}
              label={t('Name')}
              value={template?.file ?? input.file_name}
              hint={t('Slashes make folders.')}
              autofocus={show === null}
            />
            <FileText
              control={{ ...f.content, label: t('Content'), value: content }}
              show={show}
              shown={shown}
              name={f.file_name.name}
              path={path && `${path}/`}
              views={[['text', t('Preview')], ...checkOf(subject, file)]}
            />
            <CommitFields view={view} message={template ? `Add ${template.file}` : 'Add a file'} branch={branch} />
            <Submit label={t('Commit file')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const newFileForm = form({
  at: 'P/-/create/*',
  access: onCode,
  input: created.extend({ path: str() }),
  files: true,
  on: newFilePage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    if (input.file_name.trim() === '') throw invalidRecord({ file_name: ["can't be blank"] })
    const file_path = place.path ? `${place.path}/${input.file_name}` : input.file_name
    await commitAction(ctx, subject, caller, place, { ...input, action: { action: 'create', file_path, content: input.content } })
    return new Redirect(`${within(subject)}/blob/${inUrl(input.branch_name)}/${inUrl(file_path)}`, {
      notice: t('The file is on the branch {branchName}.', { branchName: input.branch_name }),
    })
  },
})
