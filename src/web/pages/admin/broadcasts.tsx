import { z } from 'zod'
import { adminPage, anyone } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, datetime, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import {
  type BroadcastMessage,
  createMessage,
  getMessage,
  isActive,
  listMessages,
  removeMessage,
  updateMessage,
} from '../../../services/core/broadcast-messages.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { localPath } from '../../local-path.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { withDismissed } from '../../session/cookies.js'

const AT = '/admin/broadcast_messages'
const PER_PAGE = 20

/** A moment as it is typed: 2026-11-25 14:30, in UTC. */
const momentText = (moment: Date) => moment.toISOString().slice(0, 16).replace('T', ' ')

const HOUR_MS = 3_600_000

const MessageForm = ({ view, message }: { view: PageView; message?: BroadcastMessage }) => {
  const f = fieldsOf(view, given).broadcast_message
  return (
    <FormTag view={view} action={message ? `${AT}/${message.id}` : AT} method={message ? 'PUT' : 'POST'} once={!message}>
      <FormFaults view={view} />
      <TextField {...f.message} label={t('Message')} value={message?.message} rows={3} />
      <div class="columns">
        <Field
          {...f.starts_at}
          required
          label={t('From')}
          value={momentText(message?.starts_at ?? view.now)}
          hint={t('Day and time in UTC, as 2026-11-25 14:30.')}
        />
        <Field
          {...f.ends_at}
          required
          label={t('Until')}
          value={momentText(message?.ends_at ?? new Date(view.now.getTime() + HOUR_MS))}
          hint={t('Day and time in UTC.')}
        />
      </div>
      <Field
        {...f.target_path}
        label={t('Only on pages at')}
        value={message?.target_path}
        hint={
          <Phrase
            text="A path such as {code}, in which {code2} is any text. Empty: on all pages."
            code={<code>/team/*</code>}
            code2={<code>*</code>}
          />
        }
      />
      <Checkbox
        {...f.dismissable}
        label={t('Can be dismissed')}
        hint={t('Then it is no longer shown in the browser in which it was dismissed.')}
        checked={message?.dismissable ?? true}
      />
      <Submit label={message ? t('Save changes') : t('Add message')} />
    </FormTag>
  )
}

export const broadcastsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listMessages(ctx, { page: input.page, per_page: PER_PAGE })
    return {
      title: t('Messages'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Messages')}>
          <p>{t('A message is shown at the top of all pages, to everybody, also to those who are not signed in.')}</p>
          <Rows empty={t('There are no messages.')}>
            {items.map((message) => (
              <Row
                key={message.id}
                actions={
                  <>
                    <a class="button" href={`${view.links.prefix}${AT}/${message.id}/edit`} aria-label={t('Edit message {id}', { id: message.id })}>
                      {t('Edit')}
                    </a>
                    <ActionButton
                      view={view}
                      action={`${AT}/${message.id}`}
                      method="DELETE"
                      label={t('Remove')}
                      what={t('message {id}', { id: message.id })}
                      class="danger"
                    />
                  </>
                }
              >
                <span>
                  {message.message}{' '}
                  {isActive(message, view.now) ? (
                    <Badge kind="success">{t('shown')}</Badge>
                  ) : message.starts_at > view.now ? (
                    <Badge kind="waiting">{t('later')}</Badge>
                  ) : (
                    <Badge>{t('over')}</Badge>
                  )}
                </span>
                <span class="dim">
                  <Phrase text="{moment} to {moment2} UTC" moment={momentText(message.starts_at)} moment2={momentText(message.ends_at)} />
                  {message.target_path && t(', at {targetPath}', { targetPath: message.target_path })}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('New message')}</h2>
          <MessageForm view={view} />
        </AdminLayout>
      ),
    }
  },
})

const byId = { id: rowId() }

export const editBroadcastPage = page({
  at: `${AT}/:id/edit`,
  access: adminPage,
  input: z.object(byId),
  async show({ ctx, input, view }) {
    const message = await getMessage(ctx, input.id)
    return {
      title: t('Edit message'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Edit message')}>
          <MessageForm view={view} message={message} />
        </AdminLayout>
      ),
    }
  },
})

const given = z.object({
  broadcast_message: z.object({
    message: orDefault(documented.filled(), ''),
    starts_at: opt(datetime()),
    ends_at: opt(datetime()),
    target_path: orDefault(str(), ''),
    dismissable: orDefault(bool(), false),
  }),
})

export const broadcastForm = form({
  at: AT,
  access: adminPage,
  input: given,
  on: broadcastsPage,
  async submit({ ctx, input }) {
    await createMessage(ctx, input.broadcast_message)
    return new Redirect(AT, { notice: t('Message added.') })
  },
})

export const broadcastChange = form({
  at: `${AT}/:id`,
  method: 'PUT',
  access: adminPage,
  input: given.extend(byId),
  on: editBroadcastPage,
  async submit({ ctx, input }) {
    await updateMessage(ctx, input.id, input.broadcast_message)
    return new Redirect(AT, { notice: t('Message updated.') })
  },
})

export const broadcastRemoval = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object(byId),
  async submit({ ctx, input }) {
    await removeMessage(ctx, input.id)
    return new Redirect(AT, { notice: t('Message removed.') })
  },
})

/** A browser remembers by a cookie what it has dismissed. */
export const broadcastDismissal = form({
  at: '/-/broadcast_messages/:id/dismiss',
  access: anyone,
  openWhen: ['read_only'],
  input: z.object({ ...byId, return_to: opt(str()) }),
  submit: async ({ ctx, input, view }) => new Redirect(localPath(input.return_to), { cookies: [withDismissed(ctx, view.dismissed, input.id)] }),
})
