import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, paging, rowId } from '../../../http/params.js'
import {
  type BadgeAttributes,
  type BadgeSource,
  createBadge,
  deleteBadge,
  getBadge,
  listBadges,
  updateBadge,
} from '../../../services/projects/badges/badges.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge as Mark, Pager, Row, Rows } from '../../components/list.js'
import { BadgeLink, nameOfBadge, picturedBadges } from '../../components/projects/badges.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 50
const contents = z.object({
  badge: z.object({
    name: orDefault(documented.short(), ''),
    link_url: orDefault(documented.webUrl(), ''),
    image_url: orDefault(documented.webUrl(), ''),
  }),
})

function Attributes({ view, badge }: { view: PageView; badge?: BadgeAttributes }) {
  const f = fieldsOf(view, contents).badge
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.name} label={t('Name')} hint={t('What is read where the picture is not seen.')} value={badge?.name ?? ''} autocomplete="off" />
      <Field {...f.link_url} label={t('Link')} value={badge?.link_url ?? ''} autocomplete="off" />
      <Field {...f.image_url} label={t('Picture')} value={badge?.image_url ?? ''} autocomplete="off" />
      <p class="dim">
        <Phrase
          text="In both addresses {path}, {id}, {title}, {name}, {branch} and {commit} become what the project has."
          path={<code>{'%{project_path}'}</code>}
          id={<code>{'%{project_id}'}</code>}
          title={<code>{'%{project_title}'}</code>}
          name={<code>{'%{project_name}'}</code>}
          branch={<code>{'%{default_branch}'}</code>}
          commit={<code>{'%{commit_sha}'}</code>}
        />
      </p>
    </>
  )
}

/** Badges of a project or a group (BD-6). */
function badgesOf<Subject>(of: Place<Subject>, access: Access<Subject, true>, source: (subject: Subject) => BadgeSource) {
  const at = `${of.at}/settings/badges` as const
  const list = (subject: Subject) => `${of.home(subject)}/-/settings/badges`

  const badgesPage = page({
    at,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, caller, subject, input, view }) {
      const { items, total } = await listBadges(ctx, caller, source(subject), { page: input.page, per_page: PER_PAGE })
      const badges = await picturedBadges(ctx, items)
      return {
        title: `${t('Badges')} · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/settings/badges" title={t('Badges')}>
            <p>
              <Phrase
                text="Linked pictures on the page of {what}."
                what={of.kind === 'project' ? t('the project') : t('each project in the group and below it')}
              />
            </p>
            <Rows empty={t('There are no badges.')}>
              {badges.map((badge) => (
                <Row
                  key={badge.id}
                  actions={
                    badge.isOwn && (
                      <>
                        <a
                          class="button"
                          href={`${view.links.prefix}${list(subject)}/${badge.id}`}
                          aria-label={t('Edit {nameOfBadge}', { nameOfBadge: nameOfBadge(badge) })}
                        >
                          {t('Edit')}
                        </a>
                        <ActionButton
                          view={view}
                          action={`${list(subject)}/${badge.id}`}
                          method="DELETE"
                          label={t('Delete')}
                          what={nameOfBadge(badge)}
                          class="danger"
                        />
                      </>
                    )
                  }
                >
                  <span class="wrap">
                    <BadgeLink badge={badge} /> {badge.name} {!badge.isOwn && <Mark kind="outline">{t('group')}</Mark>}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New badge')}</h2>
            <FormTag view={view} action={list(subject)}>
              <Attributes view={view} />
              <Submit label={t('Add badge')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const badgePage = page({
    at: `${at}/:badge_id`,
    access,
    input: z.object({ badge_id: rowId() }),
    async show({ ctx, caller, subject, input, view }) {
      const badge = await getBadge(ctx, caller, source(subject), input.badge_id)
      return {
        title: `${nameOfBadge(badge)} · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/settings/badges" title={nameOfBadge(badge)}>
            <FormTag view={view} action={`${list(subject)}/${badge.id}`} method="PUT">
              <Attributes view={view} badge={badge} />
              <Submit label={t('Save changes')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const addition = form({
    at,
    access,
    input: contents,
    on: badgesPage,
    async submit({ ctx, caller, subject, input: { badge } }) {
      await createBadge(ctx, caller, source(subject), badge)
      return new Redirect(list(subject), { notice: t('The badge is added.') })
    },
  })

  const change = form({
    at: `${at}/:badge_id`,
    method: 'PUT',
    access,
    input: z.object({ badge_id: rowId(), ...contents.shape }),
    on: badgePage,
    async submit({ ctx, caller, subject, input: { badge_id, badge } }) {
      await updateBadge(ctx, caller, source(subject), badge_id, badge)
      return new Redirect(list(subject), { notice: t('The changes are saved.') })
    },
  })

  const removal = form({
    at: `${at}/:badge_id`,
    method: 'DELETE',
    access,
    input: z.object({ badge_id: rowId() }),
    async submit({ ctx, subject, input }) {
      await deleteBadge(ctx, source(subject), input.badge_id)
      return new Redirect(list(subject), { notice: t('The badge is deleted.') })
    },
  })

  return [badgesPage, badgePage, addition, change, removal]
}

export const projectBadges = badgesOf(ofProject, onProjectSignedIn('manage_project'), (project: ProjectSubject) => ({ project }))
export const groupBadges = badgesOf(ofGroup, onGroupSignedIn('manage_group'), (group: GroupSubject) => ({ group }))
