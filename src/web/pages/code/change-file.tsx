import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { file, opt, orDefault, str } from '../../../http/params.js'
import { Field, FormFaults, FormTag, Hidden, Submit, typed } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl } from '../../links.js'
import { type FormMethod, form, type PageView, page, Redirect } from '../../page.js'
import { branchOf, CommitFields, commit, commitAction, fileOf, onCode, StaleFile, within } from './committing.js'
import type { Place } from './revision.js'

interface FrameProps {
  view: PageView
  subject: ProjectSubject
  place: Place & { branch: string }
  /** The commit that last changed the file; null for a new one. */
  last: string | null
  title: string
  /** Of the form. */
  action: string
  method?: FormMethod
  files?: boolean
  message: string
  submit: { label: string; class?: string }
  children?: ComponentChildren
}

/** A page with a form that changes a file. */
const frame = ({ view, subject, place, last, title, action, method, files = false, message, submit, children }: FrameProps) => ({
  title: `${title} · ${fullPathOf(subject.project)}`,
  body: (
    <ProjectLayout view={view} subject={subject} tab="code">
      <h1>{title}</h1>
      <FormTag view={view} action={`${within(subject)}/${action}`} files={files} {...(method && { method })}>
        <FormFaults view={view} />
        {last !== null && view.submitted !== null && typed(view, 'last_commit_sha') !== last && <StaleFile place={place} />}
        {last !== null && <Hidden {...fieldsOf(view, known).last_commit_sha} value={last} />}
        {children}
        <CommitFields view={view} message={message} branch={place.branch} />
        <p class="row start">
          <Submit {...submit} />
          <a href={last === null ? place.links.tree(place.branch, place.path) : place.links.blob(place.branch, place.path)}>{t('Cancel')}</a>
        </p>
      </FormTag>
    </ProjectLayout>
  ),
})

const known = z.object({ last_commit_sha: orDefault(str(), ''), ...commit.shape })
const at = z.object({ path: str() })
const addressOf = ({ branch, path }: { branch: string; path: string }) => `${inUrl(branch)}${path && `/${inUrl(path)}`}`

const changed = (subject: ProjectSubject, branch: string, path: string) =>
  new Redirect(`${within(subject)}/blob/${inUrl(branch)}/${inUrl(path)}`, { notice: t('Your change is on the branch {branch}.', { branch }) })

const replaced = known.extend({ file: opt(file()) })

export const replacePage = page({
  at: 'P/-/replace/*',
  robots: 'disallow',
  access: onCode,
  input: at,
  async show({ ctx, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { last } = await fileOf(place)
    return frame({
      view,
      subject,
      place,
      last,
      title: t('Replace {path}', { path: place.path }),
      action: `replace/${addressOf(place)}`,
      files: true,
      message: `Replace ${place.path}`,
      submit: { label: t('Replace file') },
      children: (
        <Field
          {...fieldsOf(view, replaced).file}
          required
          label={t('File')}
          hint={t('Its content takes the place of what is there; the name stays.')}
        />
      ),
    })
  },
})

export const replaceForm = form({
  at: 'P/-/replace/*',
  access: onCode,
  input: replaced.extend({ path: str() }),
  files: true,
  on: replacePage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    await fileOf(place)
    if (!input.file) throw invalidRecord({ file: ["can't be blank"] })
    const content = { content: input.file.data.toString('base64'), encoding: 'base64' }
    const action = { action: 'update', file_path: place.path, ...content, last_commit_id: input.last_commit_sha }
    await commitAction(ctx, subject, caller, place, { ...input, action })
    return changed(subject, input.branch_name, place.path)
  },
})

const renamed = known.extend({ file_path: orDefault(documented.filled(), '') })

export const renamePage = page({
  at: 'P/-/rename/*',
  robots: 'disallow',
  access: onCode,
  input: at,
  async show({ ctx, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { last } = await fileOf(place, { links: true })
    return frame({
      view,
      subject,
      place,
      last,
      title: t('Rename or move {path}', { path: place.path }),
      action: `rename/${addressOf(place)}`,
      message: `Rename ${place.path}`,
      submit: { label: t('Rename file') },
      children: <Field {...fieldsOf(view, renamed).file_path} label={t('New path')} value={place.path} hint={t('Slashes make folders.')} autofocus />,
    })
  },
})

export const renameForm = form({
  at: 'P/-/rename/*',
  access: onCode,
  input: renamed.extend({ path: str() }),
  on: renamePage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    await fileOf(place, { links: true })
    const { file_path, last_commit_sha: last_commit_id } = input
    if (file_path.trim() === '') throw invalidRecord({ file_path: ["can't be blank"] })
    if (file_path === place.path) throw invalidRecord({ file_path: ['is the same as before'] })
    await commitAction(ctx, subject, caller, place, { ...input, action: { action: 'move', file_path, previous_path: place.path, last_commit_id } })
    return changed(subject, input.branch_name, file_path)
  },
})

export const deletePage = page({
  at: 'P/-/delete/*',
  robots: 'disallow',
  access: onCode,
  input: at,
  async show({ ctx, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { last } = await fileOf(place, { links: true })
    return frame({
      view,
      subject,
      place,
      last,
      title: t('Delete {path}', { path: place.path }),
      action: `blob/${addressOf(place)}`,
      method: 'DELETE',
      message: `Delete ${place.path}`,
      submit: { label: t('Delete file'), class: 'danger' },
    })
  },
})

export const fileRemoval = form({
  at: 'P/-/blob/*',
  method: 'DELETE',
  access: onCode,
  input: known.extend({ path: str() }),
  on: deletePage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    await commitAction(ctx, subject, caller, place, {
      ...input,
      action: { action: 'delete', file_path: place.path, last_commit_id: input.last_commit_sha },
    })
    return new Redirect(`${within(subject)}/tree/${inUrl(input.branch_name)}`, {
      notice: t('{path} is deleted on the branch {branchName}.', { path: place.path, branchName: input.branch_name }),
    })
  },
})

const uploaded = commit.extend({ file: opt(file()) })

export const uploadPage = page({
  at: 'P/-/upload/*',
  robots: 'disallow',
  access: onCode,
  input: at,
  async show({ ctx, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    return frame({
      view,
      subject,
      place,
      last: null,
      title: place.path ? t('Upload a file to {path}', { path: place.path }) : t('Upload a file'),
      action: `upload/${addressOf(place)}`,
      files: true,
      message: 'Upload a file',
      submit: { label: t('Upload file') },
      children: <Field {...fieldsOf(view, uploaded).file} required label={t('File')} />,
    })
  },
})

export const uploadForm = form({
  at: 'P/-/upload/*',
  access: onCode,
  input: uploaded.extend({ path: str() }),
  files: true,
  on: uploadPage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    if (!input.file || input.file.filename === '') throw invalidRecord({ file: ["can't be blank"] })
    const { filename, data } = input.file
    const file_path = place.path ? `${place.path}/${filename}` : filename
    const action = { action: 'create', file_path, content: data.toString('base64'), encoding: 'base64' }
    await commitAction(ctx, subject, caller, place, { ...input, action })
    return new Redirect(`${within(subject)}/blob/${inUrl(input.branch_name)}/${inUrl(file_path)}`, {
      notice: t('The file is on the branch {branchName}.', { branchName: input.branch_name }),
    })
  },
})
