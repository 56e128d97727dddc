import { z } from 'zod'
import { fullPathOf, type GroupSubject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, date, list, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import {
  addDeployKey,
  enableDeployKey,
  getDeployKey,
  listDeployKeys,
  publicKeysFor,
  removeDeployKey,
  updateDeployKey,
} from '../../../services/projects/deploy-keys.js'
import { createDeployToken, getDeployToken, listDeployTokens, revokeDeployToken } from '../../../services/projects/deploy-tokens.js'
import { ScopeBadges } from '../../components/accounts/scopes.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
const access = onProjectSignedIn('manage_deploy_keys')
const keys = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/deploy_keys`
const byKey = { key_id: rowId() }
const canPush = orDefault(bool(), false)
const pushes = () => t('May push too')

const newKey = z.object({
  deploy_key: z.object({
    title: orDefault(documented.title(), ''),
    key: orDefault(documented.sshKey(), ''),
    expires_at: opt(date()),
    can_push: canPush,
  }),
})

export const deployKeysPage = page({
  at: 'P/-/deploy_keys',
  access,
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const [{ items, total }, offered] = await Promise.all([
      listDeployKeys(ctx, subject.project, { page: input.page, per_page: PER_PAGE }),
      publicKeysFor(ctx, subject.project),
    ])
    const at = keys(subject)
    const f = fieldsOf(view, newKey).deploy_key
    return {
      title: `${t('Deploy keys')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/deploy_keys" title={t('Deploy keys')}>
          <p>{t('A deploy key lets a machine clone this project over SSH, without a user.')}</p>
          <Rows empty={t('There are no deploy keys.')}>
            {items.map(({ key, can_push }) => (
              <Row
                key={key.id}
                actions={
                  <>
                    <a class="button" href={`${view.links.prefix}${at}/${key.id}/edit`} aria-label={t('Change {title}', { title: key.title })}>
                      {t('Change')}
                    </a>
                    <ActionButton view={view} action={`${at}/${key.id}`} method="DELETE" label={t('Remove')} what={key.title} class="danger" />
                  </>
                }
              >
                <span>
                  <strong>{key.title}</strong> {can_push && <Badge kind="waiting">{t('may push')}</Badge>}
                </span>
                <code class="dim">SHA256:{key.fingerprint_sha256}</code>
                <span class="dim">
                  <Phrase text="Added {time}" time={<Time at={key.created_at} />} />
                  {key.expires_at && t(', expires {day}', { day: dayText(key.expires_at) })}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          {offered.length > 0 && (
            <>
              <h2>{t('Keys of the service')}</h2>
              <Rows empty="">
                {offered.map((key) => (
                  <Row
                    key={key.id}
                    actions={<ActionButton view={view} action={`${at}/${key.id}/enable`} method="PUT" label={t('Enable')} what={key.title} />}
                  >
                    <strong>{key.title}</strong>
                    <code class="dim">SHA256:{key.fingerprint_sha256}</code>
                  </Row>
                ))}
              </Rows>
            </>
          )}
          <h2>{t('Add a key')}</h2>
          <FormTag view={view} action={at}>
            <FormFaults view={view} />
            <Field {...f.title} label={t('Title')} hint={t('To know it by, such as the name of the machine.')} />
            <TextField
              {...f.key}
              label={t('Public key')}
              rows={4}
              class="code"
              spellcheck={false}
              hint={t('A key of another project that you maintain may be used here too.')}
            />
            <Field {...f.expires_at} label={t('Expires on')} />
            <Checkbox {...f.can_push} label={pushes()} />
            <Submit label={t('Add key')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const deployKeyForm = form({
  at: 'P/-/deploy_keys',
  access,
  input: newKey,
  on: deployKeysPage,
  async submit({ ctx, caller, subject, input: { deploy_key: given } }) {
    const expires_at = given.expires_at === undefined ? undefined : new Date(given.expires_at)
    const { key } = await addDeployKey(ctx, caller, subject.project, { ...given, title: given.title.trim(), expires_at })
    return new Redirect(keys(subject), { notice: t('The key “{title}” is added.', { title: key.title }) })
  },
})

const changedKey = z.object({ deploy_key: z.object({ title: orDefault(documented.title(), ''), can_push: canPush }) })

export const deployKeyPage = page({
  at: 'P/-/deploy_keys/:key_id/edit',
  access,
  input: z.object(byKey),
  async show({ ctx, subject, input, view }) {
    const { key, can_push } = await getDeployKey(ctx, subject.project, input.key_id)
    const f = fieldsOf(view, changedKey).deploy_key
    return {
      title: `${key.title} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/deploy_keys" title={key.title}>
          <FormTag view={view} action={`${keys(subject)}/${key.id}`} method="PUT">
            <FormFaults view={view} />
            <Field {...f.title} label={t('Title')} value={key.title} hint={t('The same in all projects that have this key.')} />
            <Checkbox {...f.can_push} label={pushes()} checked={can_push} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const deployKeyChange = form({
  at: 'P/-/deploy_keys/:key_id',
  method: 'PUT',
  access,
  input: changedKey.extend(byKey),
  on: deployKeyPage,
  async submit({ ctx, subject, input: { key_id, deploy_key: given } }) {
    const { key } = await updateDeployKey(ctx, subject.project, key_id, given)
    return new Redirect(keys(subject), { notice: t('The key “{title}” is changed.', { title: key.title }) })
  },
})

export const deployKeyEnabling = form({
  at: 'P/-/deploy_keys/:key_id/enable',
  method: 'PUT',
  access,
  input: z.object(byKey),
  async submit({ ctx, caller, subject, input }) {
    const { key } = await enableDeployKey(ctx, caller, subject.project, input.key_id)
    return new Redirect(keys(subject), { notice: t('The key “{title}” is enabled.', { title: key.title }) })
  },
})

export const deployKeyRemoval = form({
  at: 'P/-/deploy_keys/:key_id',
  method: 'DELETE',
  access,
  input: z.object(byKey),
  async submit({ ctx, subject, input }) {
    const { key } = await getDeployKey(ctx, subject.project, input.key_id)
    await removeDeployKey(ctx, subject.project, key.id)
    return new Redirect(keys(subject), { notice: t('The key “{title}” is removed.', { title: key.title }) })
  },
})

const newToken = z.object({
  deploy_token: z.object({
    name: orDefault(documented.title(), ''),
    username: orDefault(str(), ''),
    expires_at: opt(date()),
    scopes: orDefault(list(str()), []),
  }),
})

/** What may be chosen here. */
const scopesTexts = () => ({
  read_repository: t('Clone and fetch over HTTP'),
  read_registry: t('Pull images'),
  write_registry: t('Pull and push images'),
  read_package_registry: t('Install packages'),
  write_package_registry: t('Install and publish packages'),
})

/** Deploy tokens, whose value is shown once (DK-8). */
function tokensOf<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>) {
  const at = `${of.at}/deploy_tokens` as const
  const home = (subject: Subject) => `${of.home(subject)}/-/deploy_tokens`

  const tokensPage = page({
    at,
    access: of.onTokens,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const { items, total } = await listDeployTokens(ctx, of.source(subject), { page: input.page, per_page: PER_PAGE })
      const f = fieldsOf(view, newToken).deploy_token
      return {
        title: `${t('Deploy tokens')} · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/deploy_tokens" title={t('Deploy tokens')}>
            <p>
              <Phrase
                text="A deploy token lets a machine read {what} over HTTP, without a user."
                what={of.kind === 'project' ? t('this project') : t('the projects of this group')}
              />
            </p>
            <Rows empty={t('There are no deploy tokens.')}>
              {items.map((token) => (
                <Row
                  key={token.id}
                  actions={
                    <ActionButton
                      view={view}
                      action={`${home(subject)}/${token.id}`}
                      method="DELETE"
                      label={t('Revoke')}
                      what={token.name}
                      class="danger"
                    />
                  }
                >
                  <span>
                    <strong>{token.name}</strong> <code class="dim">{token.username}</code>{' '}
                    {token.expires_at && token.expires_at <= view.now && <Badge kind="danger">{t('expired')}</Badge>}
                  </span>
                  <span>
                    <ScopeBadges scopes={token.scopes} />
                  </span>
                  <span class="dim">
                    <Phrase text="Created {time}" time={<Time at={token.created_at} />} />
                    <LastUsed at={token.last_used_at} />
                    {token.expires_at ? t(', expires {day}', { day: dayText(token.expires_at) }) : t(', never expires')}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New token')}</h2>
            <FormTag view={view} action={home(subject)} once>
              <FormFaults view={view} />
              <Field {...f.name} label={t('Name')} hint={t('What it is for.')} />
              <Field {...f.username} label={t('Username')} hint={t('Empty: made from its number.')} autocomplete="off" />
              <Field {...f.expires_at} label={t('Expires on')} hint={t('Empty: it never expires.')} />
              <fieldset>
                <legend>{t('Scopes')}</legend>
                {Object.entries(scopesTexts()).map(([scope, hint]) => (
                  <Checkbox key={scope} {...f.scopes} value={scope} label={scope} hint={hint} checked={scope === 'read_repository'} />
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
    access: of.onTokens,
    input: newToken,
    on: tokensPage,
    async submit({ ctx, caller, subject, input: { deploy_token: given }, view }) {
      const { token, value } = await createDeployToken(ctx, caller, of.source(subject), {
        name: given.name,
        username: given.username.trim() || undefined,
        scopes: given.scopes,
        expires_at: given.expires_at === undefined ? undefined : new Date(given.expires_at),
      })
      const clone = view.links.http(of.kind === 'project' ? of.source(subject).fullPath : `${of.source(subject).fullPath}/PROJECT`)
      return {
        title: t('New deploy token'),
        headers: { 'cache-control': 'no-store' },
        body: (
          <of.Frame view={view} subject={subject} at="-/deploy_tokens" title={t('Token “{name}”', { name: token.name })}>
            <p>
              <Phrase
                text="{strong} Copy it now, and keep it like a password."
                strong={<strong>{t('This is the only time that it is shown.')}</strong>}
              />
            </p>
            <Copied id="token" label={t('Token')} value={value} />
            {token.scopes.includes('read_repository') && (
              <>
                <p>{t('With Git, as the password:')}</p>
                <pre>
                  <code>git clone {clone.replace('://', `://${token.username}@`)}</code>
                </pre>
              </>
            )}
            <p>
              <a href={view.links.prefix + home(subject)}>{t('All tokens')}</a>
            </p>
          </of.Frame>
        ),
      }
    },
  })

  const revocation = form({
    at: `${at}/:token_id`,
    method: 'DELETE',
    access: of.onTokens,
    input: z.object({ token_id: rowId() }),
    async submit({ ctx, subject, input }) {
      const { name } = await getDeployToken(ctx, of.source(subject), input.token_id)
      await revokeDeployToken(ctx, of.source(subject), input.token_id)
      return new Redirect(home(subject), { notice: t('The token “{name}” is revoked.', { name }) })
    },
  })

  return [tokensPage, creation, revocation]
}

export const projectDeployTokens = tokensOf(ofProject)
export const groupDeployTokens = tokensOf(ofGroup)
