import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { str } from '../../../http/params.js'
import { unlinkIdentity } from '../../../services/identity/sign-in/identities.js'
import { t } from '../../language/language.js'
import { form, Redirect } from '../../page.js'
import { accountPage } from './profile.js'

export const identityRemoval = form({
  at: '/-/profile/account/unlink',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: z.object({ provider: str() }),
  on: accountPage,
  async submit({ ctx, caller, input }) {
    await unlinkIdentity(ctx, caller.user, input.provider)
    return new Redirect('/-/profile/account', { notice: t('That account is disconnected from yours.') })
  },
})
