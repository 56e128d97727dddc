import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { date, opt, orDefault, paging, rowId } from '../../../http/params.js'
import { addPublicKey, listAllDeployKeys, removePublicKey } from '../../../services/projects/deploy-keys.js'
import { ActionButton, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { dayText, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/admin/deploy_keys'
const PER_PAGE = 50

const newKey = z.object({
  deploy_key: z.object({ title: orDefault(documented.title(), ''), key: orDefault(documented.sshKey(), ''), expires_at: opt(date()) }),
})

/** Deploy keys that every project may enable (PT-10). */
export const publicKeysPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listAllDeployKeys(ctx, { public: true, page: input.page, per_page: PER_PAGE })
    const f = fieldsOf(view, newKey).deploy_key
    return {
      title: t('Deploy keys'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Deploy keys')}>
          <p>{t('Maintainers may enable these keys in their projects, each for its own project. They open nothing before that.')}</p>
          <Rows empty={t('There are no deploy keys of the service.')}>
            {items.map((key) => (
              <Row
                key={key.id}
                actions={<ActionButton view={view} action={`${AT}/${key.id}`} method="DELETE" label={t('Remove')} what={key.title} class="danger" />}
              >
                <strong>{key.title}</strong>
                <code class="dim">SHA256:{key.fingerprint_sha256}</code>
                <span class="dim">
                  <Phrase text="Added {time}" time={<Time at={key.created_at} />} />
                  {key.expires_at && t(', expires {day}', { day: dayText(key.expires_at) })}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('Add a key')}</h2>
          <FormTag view={view} action={AT} once>
            <FormFaults view={view} />
            <Field {...f.title} label={t('Title')} hint={t('To know it by, such as the name of the machine.')} />
            <TextField {...f.key} label={t('Public key')} rows={4} class="code" spellcheck={false} />
            <Field {...f.expires_at} label={t('Expires on')} />
            <Submit label={t('Add key')} />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

export const publicKeyForm = form({
  at: AT,
  access: adminPage,
  input: newKey,
  on: publicKeysPage,
  async submit({ ctx, caller, input: { deploy_key: given } }) {
    const expires_at = given.expires_at === undefined ? undefined : new Date(given.expires_at)
    const { title } = await addPublicKey(ctx, caller, { ...given, title: given.title.trim(), expires_at })
    return new Redirect(AT, { notice: t('The key “{title}” is added.', { title }) })
  },
})

export const publicKeyRemoval = form({
  at: `${AT}/:key_id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ key_id: rowId() }),
  async submit({ ctx, input }) {
    const { title } = await removePublicKey(ctx, input.key_id)
    return new Redirect(AT, { notice: t('The key “{title}” is removed.', { title }) })
  },
})
