import type { ShownChanges } from '../../../../services/issuables/merge-requests/reading/contents.js'
import { shortId } from '../../../components/files/code.js'
import { titleOf } from '../../../components/files/commit.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { withQuery } from './address.js'
import type { Shown } from './load.js'

export const numberOf = ({ versions }: ShownChanges, id: number) => versions.length - versions.findIndex((version) => version.id === id)

/** Chooses a version and what it is compared with, by links that work everywhere. */
export function Versions({ shown: { changes, view, at, kept } }: { shown: Shown }) {
  const { versions, version, since, commit } = changes
  if (!version || commit) return null
  const before = versions.filter(({ id }) => id < version.id)
  return (
    <form method="get" action={view.links.prefix + at} class="toolbar versions">
      {Object.entries(kept)
        .filter(([name]) => name === 'view' || name === 'w')
        .map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
      <label for="diff_id">{t('Version')}</label>
      <select id="diff_id" name="diff_id">
        {versions.map(({ id, head_commit_sha }, i) => (
          <option key={id} value={id} selected={id === version.id}>
            {versions.length - i} {i === 0 ? t('(latest)') : ''} {shortId(head_commit_sha)}
          </option>
        ))}
      </select>
      <label for="start_sha">{t('since')}</label>
      <select id="start_sha" name="start_sha">
        <option value="">{t('the target branch')}</option>
        {before.map(({ id, head_commit_sha }) => (
          <option key={id} value={head_commit_sha} selected={id === since?.id}>
            <Phrase text="version {number} {shortId}" number={numberOf(changes, id)} shortId={shortId(head_commit_sha)} />
          </option>
        ))}
      </select>
      <button type="submit">{t('Show')}</button>
    </form>
  )
}

/** The commit that is shown alone, and the ways to those beside it. */
export function CommitBar({ shown: { changes, view, at, kept }, commits }: { shown: Shown; commits: { oid: string; message: string }[] }) {
  const { commit } = changes
  if (!commit) return null
  const i = commits.findIndex(({ oid }) => oid === commit.oid)
  const to = (one: { oid: string } | undefined, label: string) =>
    one && <a href={withQuery(view.links.prefix + at, { ...kept, commit_id: one.oid })}>{label}</a>
  const { commit_id: _, ...all } = kept
  return (
    <div class="box">
      <div class="head">
        <span class="grow">
          <strong>{titleOf(commit)}</strong> <code>{shortId(commit.oid)}</code>
        </span>
        {to(commits[i + 1], t('Previous commit'))}
        {i > 0 && to(commits[i - 1], t('Next commit'))}
        <a href={withQuery(view.links.prefix + at, all)}>{t('All commits')}</a>
      </div>
    </div>
  )
}
