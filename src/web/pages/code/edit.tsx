import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { file, opt, orDefault, str } from '../../../http/params.js'
import { hasBytes } from '../../../lib/text/byte-path.js'
import { FILE_TEMPLATES } from '../../../rules/file-templates.js'
import { createCommit } from '../../../services/repository/commits/create.js'
import { Field, FormFaults, FormTag, Hidden, Submit, TextField, typed } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { type Place, placeOf } from './revision.js'

/** Larger files are changed by a push. */
export const MAX_EDITED = 512 * 1024

const onCode = onProjectSignedIn('push_code')
const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-`

/** The branch that a page changes; 404 for a tag or a commit. */
async function branchOf(ctx: Context, subject: ProjectSubject, view: PageView, path: string): Promise<Place & { branch: string }> {
  const place = await placeOf(ctx, subject, view, path)
  const { branch } = place
  // a commit is made of paths in UTF-8
  if (branch === null || hasBytes(path)) throw notFound()
  return { ...place, branch }
}

/** What every commit from a page asks for. */
const CommitFields = ({ view, message, branch }: { view: PageView; message: string; branch: string }) => {
  const f = fieldsOf(view, commit)
  return (
    <>
      <TextField {...f.commit_message} label="Commit message" value={message} rows={3} />
      <Field {...f.branch_name} label="Branch" value={branch} hint="Another name makes a new branch from this one." />
    </>
  )
}

const commit = z.object({
  commit_message: orDefault(documented.filled(), ''),
  branch_name: orDefault(documented.filled(), ''),
})

interface Commit {
  commit_message: string
  branch_name: string
}

/** Commits one action to the branch of the page, or to a new one that starts there. */
async function commitAction(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  place: { branch: string },
  { action, commit_message, branch_name }: Commit & { action: Record<string, unknown> },
) {
  if (commit_message.trim() === '') throw invalidRecord({ commit_message: ["can't be blank"] })
  if (branch_name === '') throw invalidRecord({ branch_name: ["can't be blank"] })
  const given = { branch: branch_name, commit_message, ...(branch_name !== place.branch && { start_branch: place.branch }), actions: [action] }
  await createCommit(ctx, subject, caller, given)
}

const isText = (content: Buffer) => !content.subarray(0, 8_000).includes(0) && content.equals(Buffer.from(content.toString('utf8')))

/** A file that can be changed, with its text if that can be edited in a page, and the commit that last changed it. */
async function editable({ repository, commit, path }: Place): Promise<{ text: string | null; last: string }> {
  const entry = await repository.entry(commit.oid, path)
  if (entry?.type !== 'blob' || entry.mode === '120000') throw notFound()
  const info = await repository.objectInfo(entry.oid)
  const content = info && info.size <= MAX_EDITED ? await repository.blob(entry.oid) : null
  const [last] = await repository.lastCommits(commit.oid, [path])
  return { text: content && isText(content) ? content.toString('utf8') : null, last: last ?? commit.oid }
}

const edited = z.object({
  file_path: orDefault(documented.filled(), ''),
  content: opt(str()),
  file: opt(file()),
  last_commit_sha: orDefault(str(), ''),
  ...commit.shape,
})

export const editPage = page({
  at: 'P/-/edit/*',
  robots: 'disallow',
  access: onCode,
  input: z.object({ path: str() }),
  async show({ ctx, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { path, branch, links } = place
    const { text, last } = await editable(place)
    const address = `${inUrl(branch)}/${inUrl(path)}`
    const isStale = view.submitted !== null && typed(view, 'last_commit_sha') !== last
    const fresh = { ...view, submitted: null }
    const f = fieldsOf(view, edited)
    return {
      title: `Edit ${path} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>Edit {path}</h1>
          <FormTag view={view} action={`${within(subject)}/update/${address}`} method="PUT">
            <FormFaults view={view} />
            {isStale && (
              <p class="flash alert">
                The file has changed since you opened it. Compare with{' '}
                <a href={links.blob(branch, path)} target="_blank" rel="noopener">
                  what is there now
                </a>
                ; if you save again, your text replaces it.
              </p>
            )}
            <Hidden {...f.last_commit_sha} value={last} />
            <Field {...f.file_path} label="Path" value={path} hint="Another path renames the file." />
            {text === null ? (
              <p class="dim">This file is no text, or too large to be edited here. You can rename it, or replace it below.</p>
            ) : (
              <TextField {...f.content} label="Content" value={text} rows={24} class="code" spellcheck={false} />
            )}
            <CommitFields view={view} message={`Update ${path}`} branch={branch} />
            <Submit label="Commit changes" />
          </FormTag>
          <h2>Replace this file</h2>
          <FormTag view={view} action={`${within(subject)}/update/${address}`} method="PUT" files>
            <Hidden {...f.last_commit_sha} value={last} />
            <Hidden {...f.file_path} value={path} />
            <Field {...f.file} within="replace" required label="File" />
            <CommitRow view={fresh} within="replace" message={`Replace ${path}`} branch={branch} />
            <Submit label="Replace file" class="" />
          </FormTag>
          <h2>Delete this file</h2>
          <FormTag view={view} action={`${within(subject)}/blob/${address}`} method="DELETE">
            <Hidden {...fieldsOf(fresh, removed).last_commit_sha} value={last} />
            <CommitRow view={fresh} within="delete" message={`Delete ${path}`} branch={branch} />
            <Submit label="Delete file" class="danger" />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

const removed = z.object({ last_commit_sha: orDefault(str(), ''), ...commit.shape })

/** Message and branch of a commit, for the smaller forms of a page. */
const CommitRow = ({ view, within, message, branch }: { view: PageView; within: string; message: string; branch: string }) => {
  const f = fieldsOf(view, commit)
  return (
    <div class="columns">
      <Field {...f.commit_message} within={within} label="Commit message" value={message} />
      <Field {...f.branch_name} within={within} label="Branch" value={branch} />
    </div>
  )
}

export const editForm = form({
  at: 'P/-/update/*',
  method: 'PUT',
  access: onCode,
  input: edited.extend({ path: str() }),
  files: true,
  on: editPage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const { text } = await editable(place)
    const { file_path, last_commit_sha: last_commit_id } = input
    // the lines of a file keep their ends
    const kept = text?.includes('\r\n') ? input.content?.replace(/\r?\n/g, '\r\n') : input.content
    const bytes = input.file?.data ?? (kept === undefined ? null : Buffer.from(kept))
    if (bytes === null && file_path === place.path) throw invalidRecord({ file_path: ['is the same as before'] })
    const content = bytes && { content: bytes.toString('base64'), encoding: 'base64' }
    const action =
      file_path === place.path
        ? { action: 'update', file_path, ...content, last_commit_id }
        : { action: 'move', file_path, previous_path: place.path, ...content, last_commit_id }
    await commitAction(ctx, subject, caller, place, { ...input, action })
    return new Redirect(`${within(subject)}/blob/${inUrl(input.branch_name)}/${inUrl(file_path)}`, {
      notice: `Your change is on the branch ${input.branch_name}.`,
    })
  },
})

export const fileRemoval = form({
  at: 'P/-/blob/*',
  method: 'DELETE',
  access: onCode,
  input: removed.extend({ path: str() }),
  on: editPage,
  async submit({ ctx, caller, subject, input, view }) {
    const place = await branchOf(ctx, subject, view, input.path)
    const action = { action: 'delete', file_path: place.path, last_commit_id: input.last_commit_sha }
    await commitAction(ctx, subject, caller, place, { ...input, action })
    return new Redirect(`${within(subject)}/tree/${inUrl(input.branch_name)}`, {
      notice: `${place.path} is deleted on the branch ${input.branch_name}.`,
    })
  },
})

const created = z.object({ file_name: orDefault(documented.filled(), ''), content: orDefault(str(), ''), file: opt(file()), ...commit.shape })

export const newFilePage = page({
  at: 'P/-/new/*',
  robots: 'disallow',
  access: onCode,
  input: z.object({ path: str(), file_name: opt(str()), template: opt(str()) }),
  async show({ ctx, subject, input, view }) {
    const { path, branch, links } = await branchOf(ctx, subject, view, input.path)
    const action = `${within(subject)}/create/${inUrl(branch)}${path && `/${inUrl(path)}`}`
    const fresh = { ...view, submitted: null }
    const template = FILE_TEMPLATES.find(({ key }) => key === input.template)
    const [day, owner] = [view.now, subject.project.namespace.name]
    const content = template?.text.replace('[year]', String(day.getUTCFullYear())).replace('[fullname]', owner)
    const f = fieldsOf(view, created)
    return {
      title: `New file · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>New file {path && `in ${path}`}</h1>
          {path === '' && (
            <p class="dim">
              From a template:{' '}
              {FILE_TEMPLATES.map(({ key, name }, i) => (
                <>
                  {i > 0 && ' · '}
                  <a key={key} href={`${links.newFile(branch)}?template=${key}`} {...(key === input.template && { 'aria-current': 'true' })}>
                    {name}
                  </a>
                </>
              ))}
            </p>
          )}
          <FormTag view={view} action={action}>
            <FormFaults view={view} />
            <Field {...f.file_name} label="Name" value={template?.file ?? input.file_name} hint="Slashes make folders." autofocus />
            <TextField {...f.content} label="Content" value={content} rows={24} class="code" spellcheck={false} />
            <CommitFields view={view} message={template ? `Add ${template.file}` : 'Add a file'} branch={branch} />
            <Submit label="Commit file" />
          </FormTag>
          <h2>Or upload one</h2>
          <FormTag view={view} action={action} files>
            <Field {...f.file} required label="File" />
            <CommitRow view={fresh} within="upload" message="Upload a file" branch={branch} />
            <Submit label="Upload file" class="" />
          </FormTag>
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
    const name = input.file ? input.file.filename : input.file_name
    if (name.trim() === '') throw invalidRecord({ file_name: ["can't be blank"] })
    const file_path = place.path ? `${place.path}/${name}` : name
    const content = input.file ? { content: input.file.data.toString('base64'), encoding: 'base64' } : { content: input.content }
    await commitAction(ctx, subject, caller, place, { ...input, action: { action: 'create', file_path, ...content } })
    return new Redirect(`${within(subject)}/blob/${inUrl(input.branch_name)}/${inUrl(file_path)}`, {
      notice: `The file is on the branch ${input.branch_name}.`,
    })
  },
})
