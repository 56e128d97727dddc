import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { date, opt, orDefault, rowId, str } from '../../../http/params.js'
import { addGpgKey, findGpgKey, listGpgKeys, removeGpgKey } from '../../../services/identity/gpg-keys.js'
import { addKey, findKey, listKeys, removeKey } from '../../../services/identity/keys.js'
import { ActionButton, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'

const SSH = '/-/profile/keys'
const GPG = '/-/profile/gpg_keys'
const byId = z.object({ key_id: rowId() })
const ALL = { page: 1, per_page: 100 }

const newSshKey = z.object({ key: z.object({ key: orDefault(documented.filled(), ''), title: orDefault(str(), ''), expires_at: opt(date()) }) })

export const sshKeysPage = page({
  at: SSH,
  formerly: ['/profile/keys', '/-/user_settings/ssh_keys'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const { items } = await listKeys(ctx, caller.user, ALL)
    const f = fieldsOf(view, newSshKey).key
    return {
      title: t('SSH keys'),
      body: (
        <SettingsLayout view={view} at={SSH} title={t('SSH keys')}>
          <p>{t('A key lets you clone and push over SSH without a password.')}</p>
          <Rows empty={t('You have no keys yet.')}>
            {items.map(({ id, title, fingerprint_sha256, created_at, last_used_at, expires_at }) => (
              <Row
                key={id}
                actions={<ActionButton view={view} action={`${SSH}/${id}`} method="DELETE" label={t('Remove')} what={title} class="danger" />}
              >
                <strong>{title}</strong>
                <code class="dim">SHA256:{fingerprint_sha256}</code>
                <span class="dim">
                  <Phrase text="Added {time}" time={<Time at={created_at} />} />
                  <LastUsed at={last_used_at} />
                  {expires_at && <Phrase text=", expires {time}" time={<Time at={expires_at} />} />}
                </span>
              </Row>
            ))}
          </Rows>
          <h2>{t('Add a key')}</h2>
          <FormTag view={view} action={SSH}>
            <FormFaults view={view} />
            <TextField
              {...f.key}
              label={t('Public key')}
              rows={4}
              class="code"
              spellcheck={false}
              hint={
                <Phrase
                  text="The line in {code}. Without one, run {code2}."
                  code={<code>~/.ssh/id_ed25519.pub</code>}
                  code2={<code>ssh-keygen -t ed25519</code>}
                />
              }
            />
            <Field {...f.title} label={t('Title')} hint={t('To know it by, such as the name of the computer. Empty: the comment of the key.')} />
            <Field {...f.expires_at} label={t('Expires on')} />
            <Submit label={t('Add key')} />
          </FormTag>
        </SettingsLayout>
      ),
    }
  },
})

/** The text after the key in a line of a public key file. */
const commentOf = (line: string) => line.trim().split(/\s+/).slice(2).join(' ')

export const sshKeyForm = form({
  at: SSH,
  access: signedIn,
  ownerOnly: true,
  input: newSshKey,
  on: sshKeysPage,
  async submit({ ctx, caller, input: { key: given } }) {
    const expires_at = given.expires_at === undefined ? undefined : new Date(given.expires_at)
    const { title } = await addKey(ctx, caller.user, { key: given.key, title: given.title.trim() || commentOf(given.key), expires_at })
    return new Redirect(SSH, { notice: t('The key “{title}” is added.', { title }) })
  },
})

export const sshKeyRemoval = form({
  at: `${SSH}/:key_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: byId,
  async submit({ ctx, caller, input }) {
    const key = await findKey(ctx, caller.user, input.key_id)
    await removeKey(ctx, caller.user, key)
    return new Redirect(SSH, { notice: t('The key “{title}” is removed.', { title: key.title }) })
  },
})

const newGpgKey = z.object({ gpg_key: z.object({ key: orDefault(documented.filled(), '') }) })

export const gpgKeysPage = page({
  at: GPG,
  formerly: ['/profile/gpg_keys', '/-/user_settings/gpg_keys'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const { items } = await listGpgKeys(ctx, caller.user, ALL)
    const f = fieldsOf(view, newGpgKey).gpg_key
    return {
      title: t('GPG keys'),
      body: (
        <SettingsLayout view={view} at={GPG} title={t('GPG keys')}>
          <p>{t('Commits signed with one of your keys are shown as verified.')}</p>
          <Rows empty={t('You have no keys yet.')}>
            {items.map(({ id, fingerprint, created_at }) => (
              <Row
                key={id}
                actions={<ActionButton view={view} action={`${GPG}/${id}`} method="DELETE" label={t('Remove')} what={fingerprint} class="danger" />}
              >
                <code>{fingerprint}</code>
                <span class="dim">
                  <Phrase text="Added {time}" time={<Time at={created_at} />} />
                </span>
              </Row>
            ))}
          </Rows>
          <h2>{t('Add a key')}</h2>
          <FormTag view={view} action={GPG}>
            <FormFaults view={view} />
            <TextField
              {...f.key}
              label={t('Public key')}
              rows={8}
              class="code"
              spellcheck={false}
              hint={<Phrase text="The output of {code} with your address." code={<code>gpg --armor --export</code>} />}
            />
            <Submit label={t('Add key')} />
          </FormTag>
        </SettingsLayout>
      ),
    }
  },
})

export const gpgKeyForm = form({
  at: GPG,
  access: signedIn,
  ownerOnly: true,
  input: newGpgKey,
  on: gpgKeysPage,
  async submit({ ctx, caller, input }) {
    await addGpgKey(ctx, caller.user, input.gpg_key.key)
    return new Redirect(GPG, { notice: t('Key added.') })
  },
})

export const gpgKeyRemoval = form({
  at: `${GPG}/:key_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: byId,
  async submit({ ctx, caller, input }) {
    await removeGpgKey(ctx, caller.user, await findGpgKey(ctx, caller.user, input.key_id))
    return new Redirect(GPG, { notice: t('Key removed.') })
  },
})
