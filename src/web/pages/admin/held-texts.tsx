import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { paging, rowId } from '../../../http/params.js'
import { type HeldRecord, listHeldTexts, releaseText, removeText } from '../../../services/operations/held-texts.js'
import { ActionButton } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { adminUserPath } from './user-fields.js'

const AT = '/admin/held_texts'
const PER_PAGE = 20
const commentTexts = () => ({
  Issue: t('Comment on an issue'),
  MergeRequest: t('Comment on a merge request'),
  Snippet: t('Comment on a snippet'),
  Commit: t('Comment on a commit'),
})

const whatTexts = (username: string) => ({
  note: t('the note of {username}', { username }),
  issue: t('the issue of {username}', { username }),
  snippet: t('the snippet of {username}', { username }),
})

function titleOf({ kind, noteable_type, project }: HeldRecord): string {
  const what = kind === 'note' ? commentTexts()[noteable_type ?? 'Issue'] : kind === 'issue' ? t('Issue') : t('Snippet')
  return project === null ? what : t('{text} in', { text: what })
}

/** Characters of a text that are shown before it is unfolded, if it has as many again. */
const MAX_UNFOLDED = 500

function HeldWords({ text, cut }: Pick<HeldRecord, 'text' | 'cut'>) {
  const points = [...text]
  const long = points.length > 2 * MAX_UNFOLDED
  const whole = text + (cut ? '…' : '')
  return (
    <>
      <p class="plain-text">{long ? `${points.slice(0, MAX_UNFOLDED).join('')}…` : whole}</p>
      {long && (
        <details class="picks">
          <summary>{cut ? t('More of it') : t('All of it')}</summary>
          <p class="plain-text">{whole}</p>
        </details>
      )}
    </>
  )
}

/** What the spam filter has marked (WB-202). */
export const heldTextsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listHeldTexts(ctx, { page: input.page, per_page: PER_PAGE })
    const { prefix } = view.links
    return {
      title: t('Held texts'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Held texts')}>
          <p class="dim">
            {t(
              'The spam filter has marked these texts of new users, and only administrators see them. What is no spam is published as its author wrote it; the filter learns from both.',
            )}
          </p>
          <Rows empty={t('No text is held.')}>
            {items.map((record) => {
              const { id, kind, text, cut, created_at, author, project } = record
              const what = whatTexts(author.username)[kind]
              return (
                <Row
                  key={id}
                  actions={
                    <>
                      <ActionButton view={view} action={`${AT}/${id}/release`} label={t('Not spam')} what={what} />
                      <ActionButton view={view} action={`${AT}/${id}`} method="DELETE" label={t('Spam')} what={what} class="danger" />
                    </>
                  }
                >
                  <span class="within">
                    <strong>{titleOf(record)}</strong> {project !== null && <a href={`${prefix}/${inUrl(project)}`}>{project}</a>}
                  </span>
                  <HeldWords text={text} cut={cut} />
                  <span class="dim within">
                    <Phrase
                      text="By {link}, {time}; the account was made {time2}"
                      link={<a href={prefix + adminUserPath(author.username)}>{author.name}</a>}
                      time={<Time at={created_at} />}
                      time2={<Time at={author.created_at} />}
                    />
                  </span>
                </Row>
              )
            })}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </AdminLayout>
      ),
    }
  },
})

export const heldTextRelease = form({
  at: `${AT}/:id/release`,
  access: adminPage,
  input: z.object({ id: rowId() }),
  async submit({ ctx, input }) {
    await releaseText(ctx, input.id)
    return new Redirect(AT, { notice: t('Text published.') })
  },
})

export const heldTextRemoval = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ id: rowId() }),
  async submit({ ctx, input }) {
    await removeText(ctx, input.id)
    return new Redirect(AT, { notice: t('Text removed.') })
  },
})
