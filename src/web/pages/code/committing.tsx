import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { orDefault } from '../../../http/params.js'
import { hasBytes } from '../../../lib/text/byte-path.js'
import { createCommit } from '../../../services/repository/commits/create.js'
import { Field, TextField } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { homeOfProject } from '../../links.js'
import type { PageView } from '../../page.js'
import { type Place, placeOf } from './revision.js'

/** Larger files are changed by a push. */
export const MAX_EDITED = 512 * 1024

/** Who changes files in pages. */
export const onCode = onProjectSignedIn('push_code')
export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-`

/** The branch that a page changes; 404 for a tag or a commit. */
export async function branchOf(ctx: Context, subject: ProjectSubject, view: PageView, path: string): Promise<Place & { branch: string }> {
  const place = await placeOf(ctx, subject, view, path)
  const { branch } = place
  // a commit is made of paths in UTF-8
  if (branch === null || hasBytes(path)) throw notFound()
  return { ...place, branch }
}

export const commit = z.object({
  commit_message: orDefault(documented.filled(), ''),
  branch_name: orDefault(documented.filled(), ''),
})

/** What every commit from a page asks for. */
export const CommitFields = ({ view, message, branch }: { view: PageView; message: string; branch: string }) => {
  const f = fieldsOf(view, commit)
  return (
    <>
      <TextField {...f.commit_message} label={t('Commit message')} value={message} rows={3} />
      <Field {...f.branch_name} label={t('Branch')} value={branch} hint={t('Another name makes a new branch from this one.')} />
    </>
  )
}

/** Commits one action to the branch of the page, or to a new one that starts there. */
export async function commitAction(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  place: { branch: string },
  { action, commit_message, branch_name }: z.infer<typeof commit> & { action: Record<string, unknown> },
) {
  if (commit_message.trim() === '') throw invalidRecord({ commit_message: ["can't be blank"] })
  if (branch_name === '') throw invalidRecord({ branch_name: ["can't be blank"] })
  const given = { branch: branch_name, commit_message, ...(branch_name !== place.branch && { start_branch: place.branch }), actions: [action] }
  await createCommit(ctx, subject, caller, given)
}

/** The file at a place, and the commit that last changed it; 404 for none, and for a symbolic link unless those are wanted. */
export async function fileOf({ repository, commit, path }: Place, { links = false } = {}): Promise<{ oid: string; last: string }> {
  const entry = await repository.entry(commit.oid, path)
  if (entry?.type !== 'blob' || (entry.mode === '120000' && !links)) throw notFound()
  const [last] = await repository.lastCommits(commit.oid, [path])
  return { oid: entry.oid, last: last ?? commit.oid }
}

/** The text of a file, if it can be edited in a page. */
export async function textOf({ repository }: Place, oid: string): Promise<string | null> {
  const info = await repository.objectInfo(oid)
  const content = info && info.size <= MAX_EDITED ? await repository.blob(oid) : null
  return content && isText(content) ? content.toString('utf8') : null
}

const isText = (content: Buffer) => !content.subarray(0, 8_000).includes(0) && content.equals(Buffer.from(content.toString('utf8')))

/** Said above a form that was opened before somebody else has changed the file. */
export const StaleFile = ({ place: { links, branch, path } }: { place: Place & { branch: string } }) => (
  <p class="flash alert">
    <Phrase
      text="The file has changed since you opened it. Compare with {link}; if you save again, yours replaces it."
      link={
        <a href={links.blob(branch, path)} target="_blank" rel="noopener">
          {t('what is there now')}
        </a>
      }
    />
  </p>
)
