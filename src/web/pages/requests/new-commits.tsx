import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { fullPathOf } from '../../../access/rules.js'
import type { Commit } from '../../../git/types.js'
import type { Page } from '../../../services/core/page.js'
import { shortId } from '../../components/files/code.js'
import { titleOf } from '../../components/files/commit.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'

interface NewCommitsProps {
  view: PageView
  subject: MergeRequestSubject
  /** Since when: "your review", "your last look". */
  since: string
  /** The head that the reader knows. */
  head: string
  commits: Page<Commit>
  /** The link to what has changed since then. */
  children?: string
}

/** The commits that came after what the reader knows, and the way to what has changed since (WB-95). */
export function NewCommits({ view, subject, since, head, commits: { items, total }, children = t('What has changed since') }: NewCommitsProps) {
  const links = projectLinks(view, fullPathOf(subject.project))
  return (
    <section class="box" id="new_commits">
      <p class="head">
        <span class="grow">
          <Phrase
            text="There are new commits since {since}. {link}"
            since={since}
            link={<a href={`${view.links.prefix}${addressOf(subject)}/diffs?${new URLSearchParams({ start_sha: head })}`}>{children}</a>}
          />
        </span>
      </p>
      {items.length > 0 ? (
        <ul class="rows">
          {items.map((commit) => (
            <li key={commit.oid}>
              <div class="what">{titleOf(commit)}</div>
              <div class="actions">
                <a href={links.commit(commit.oid)}>
                  <code>{shortId(commit.oid)}</code>
                </a>
              </div>
            </li>
          ))}
          {total > items.length && (
            <li class="dim">
              <Phrase text="{total} more" total={total - items.length} />
            </li>
          )}
        </ul>
      ) : (
        <p class="note dim">{t('The branch was moved to commits that it had before.')}</p>
      )}
    </section>
  )
}
