import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import type { Scope } from '../../../access/scopes.js'
import * as documented from '../../../http/documented.js'
import { date, int, list, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import { ACCESS_TOKEN_SCOPES, createAccessToken, listAccessTokens } from '../../../services/groups/access-tokens.js'
import { levelsToGive } from '../../../services/groups/members.js'
import { revokeAccessToken } from '../../../services/operations/user-removal.js'
import { ScopeBadges } from '../../components/accounts/scopes.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { levelChoices, levelName } from '../../components/projects/levels.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
const DAY_MS = 86_400_000

const newToken = z.object({
  access_token: z.object({
    name: orDefault(documented.title(), ''),
    expires_at: opt(date()),
    access_level: orDefault(int({ min: 0, max: 50 }), 40),
    scopes: orDefault(list(str()), []),
  }),
})

/** What each scope opens, by the kind of place. */
const meaning = (scope: Scope, place: string): string =>
  ({
    api:
      place === 'project'
        ? t('Everything that its role may do in this project, over the API and Git')
        : t('Everything that its role may do in this group, over the API and Git'),
    read_api: t('Read everything that its role may read over the API'),
    read_repository: t('Clone and fetch over HTTP'),
    write_repository: t('Clone, fetch and push over HTTP'),
  })[scope as string] ?? ''

/** Tokens of a project or group, whose value is shown once (PT-1 to PT-8). */
function tokensOf<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>) {
  const at = `${of.at}/settings/access_tokens` as const
  const list = (subject: Subject) => `${of.home(subject)}/-/settings/access_tokens`

  const tokensPage = page({
    at,
    access: of.onAccessTokens,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const source = of.memberSource(subject)
      const filter = { state: 'active', sort: 'created_desc', page: input.page, per_page: PER_PAGE } as const
      const { items, total } = await listAccessTokens(ctx, source, filter)
      const f = fieldsOf(view, newToken).access_token
      return {
        title: `${t('Access tokens')} · ${of.source(subject).name}`,
        headers: { 'cache-control': 'no-store' },
        body: (
          <of.Frame view={view} subject={subject} at="-/settings/access_tokens" title={t('Access tokens')}>
            <p>
              <Phrase
                text="An access token lets a program use the API and Git with a role in this {kind}, and belongs to no person: what it does is done by a member of its own."
                kind={said(of.kind)}
              />
            </p>
            <Rows empty={t('There are no active tokens.')}>
              {items.map(({ token, access_level }) => (
                <Row
                  key={token.id}
                  actions={
                    <ActionButton
                      view={view}
                      action={`${list(subject)}/${token.id}/revoke`}
                      method="PUT"
                      label={t('Revoke')}
                      what={token.name}
                      class="danger"
                    />
                  }
                >
                  <span>
                    <strong>{token.name}</strong> <span class="dim">{levelName(access_level)}</span>
                  </span>
                  <span>
                    <ScopeBadges scopes={token.scopes} />
                  </span>
                  <span class="dim">
                    <Phrase text="Created {time}" time={<Time at={token.created_at} />} />
                    <LastUsed at={token.last_used_at} />
                    {token.expires_at ? t(', expires {day}', { day: dayText(new Date(token.expires_at)) }) : t(', never expires')}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New token')}</h2>
            <FormTag view={view} action={list(subject)} once>
              <FormFaults view={view} />
              <Field {...f.name} label={t('Name')} hint={t('What it is for; its member has this name.')} />
              <Field
                {...f.expires_at}
                label={t('Expires on')}
                value={new Date(view.now.getTime() + 365 * DAY_MS).toISOString().slice(0, 10)}
                hint={t('Empty: it never expires.')}
              />
              <SelectField {...f.access_level} label={t('Role')} value="30" choices={levelChoices(levelsToGive(source))} />
              <fieldset>
                <legend>{t('Scopes')}</legend>
                {ACCESS_TOKEN_SCOPES.map((scope) => (
                  <Checkbox key={scope} {...f.scopes} value={scope} label={scope} hint={meaning(scope, of.kind)} checked={false} />
                ))}
              </fieldset>
              <Submit label={t('Create token')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const creation = form({
    at,
    access: of.onAccessTokens,
    input: newToken,
    on: tokensPage,
    async submit({ ctx, caller, subject, input, view }) {
      const { token, value } = await createAccessToken(ctx, caller, of.memberSource(subject), input.access_token)
      const clone = view.links.http(of.kind === 'project' ? of.source(subject).fullPath : `${of.source(subject).fullPath}/PROJECT`)
      const api = view.links.api(`/${of.kind}s/${of.source(subject).id}`)
      return {
        title: t('New access token'),
        headers: { 'cache-control': 'no-store' },
        body: (
          <of.Frame view={view} subject={subject} at="-/settings/access_tokens" title={t('Token “{name}”', { name: token.name })}>
            <p>
              <Phrase
                text="{strong} Copy it now, and keep it like a password."
                strong={<strong>{t('This is the only time that it is shown.')}</strong>}
              />
            </p>
            <Copied id="token" label={t('Token')} value={value} />
            <p>{t('With the API:')}</p>
            <pre>
              <code>curl -H "PRIVATE-TOKEN: $TOKEN" {api}</code>
            </pre>
            <p>{t('With Git, as the password of any user name:')}</p>
            <pre>
              <code>git clone {clone.replace('://', '://token@')}</code>
            </pre>
            <p>
              <a href={view.links.prefix + list(subject)}>{t('All tokens')}</a>
            </p>
          </of.Frame>
        ),
      }
    },
  })

  const revocation = form({
    at: `${at}/:token_id/revoke`,
    method: 'PUT',
    access: of.onAccessTokens,
    input: z.object({ token_id: rowId() }),
    async submit({ ctx, subject, input }) {
      const name = await revokeAccessToken(ctx, of.memberSource(subject), input.token_id)
      return new Redirect(list(subject), { notice: t('The token “{name}” is revoked.', { name }) })
    },
  })

  return [tokensPage, creation, revocation]
}

export const projectAccessTokens = tokensOf(ofProject)
export const groupAccessTokens = tokensOf(ofGroup)
