import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { orDefault, str } from '../../../http/params.js'
import { threadOf, unsubscribe } from '../../../services/mail/unsubscribe.js'
import { FormTag, Submit } from '../../components/form.js'
import { t } from '../../language/language.js'
import { form, type Html, page } from '../../page.js'
import { countBadLink } from './limits.js'

const AT = '/sent_notifications/unsubscribe'
const input = z.object({ token: orDefault(str(), '') })
const headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

const answered = (title: string, text: string, status = 200): Html => ({
  title,
  narrow: true,
  status,
  headers,
  body: (
    <>
      <h1>{title}</h1>
      <p>{text}</p>
    </>
  ),
})

async function badLink(ctx: Context): Promise<Html> {
  await countBadLink(ctx)
  return answered(t('This link does not work'), t('It is not complete, or what it was about is gone.'), 404)
}

/** The unsubscribe link of mails, for people (ML-17). */
export const unsubscribePage = page({
  at: AT,
  access: anyone,
  input,
  async show({ ctx, input: { token }, view }) {
    if (!(await threadOf(ctx, token))) return badLink(ctx)
    return {
      title: t('Unsubscribe'),
      narrow: true,
      headers,
      body: (
        <>
          <h1>{t('Unsubscribe')}</h1>
          <p>{t('Do you want no more mail about this?')}</p>
          <FormTag view={view} action={AT}>
            <input type="hidden" name="token" value={token} />
            <Submit label={t('Unsubscribe')} />
          </FormTag>
        </>
      ),
    }
  },
})

/** Also sent by mail clients, as one click (ML-17). */
export const unsubscribeForm = form({
  at: AT,
  access: anyone,
  input,
  ownProof: true,
  async submit({ ctx, input: { token } }) {
    const thread = await threadOf(ctx, token)
    if (!thread) return badLink(ctx)
    await unsubscribe(ctx, thread)
    return answered(t('Unsubscribed'), t('You get no more mail about this.'))
  },
})
