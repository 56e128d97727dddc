import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { orDefault, rowId, str } from '../../../http/params.js'
import { reportAbuse, reportable } from '../../../services/operations/abuse-reports.js'
import { FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

/** Tells the administrators about a person (WB-184). */
export const abuseReportPage = page({
  at: '/abuse_reports/new',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ user_id: rowId() }),
  async show({ ctx, input, view }) {
    const user = await reportable(ctx, input.user_id)
    return {
      title: `Report ${user.name}`,
      body: (
        <section class="content">
          <h1>Report {user.name} to the administrators</h1>
          <p>
            Report spam, harassment and other abuse. The administrators read what you write; <strong>@{user.username}</strong> does not.
          </p>
          <FormTag view={view} action="/abuse_reports" once>
            <FormFaults view={view} fields={['message']} />
            <input type="hidden" name="user_id" value={user.id} />
            <TextField view={view} name="message" label="What is wrong" rows={6} hint="Links to what you mean help." required />
            <Submit label="Send report" />
          </FormTag>
        </section>
      ),
    }
  },
})

export const abuseReportForm = form({
  at: '/abuse_reports',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ user_id: rowId(), message: orDefault(str(), '') }),
  on: abuseReportPage,
  async submit({ ctx, caller, input }) {
    const user = await reportable(ctx, input.user_id)
    await reportAbuse(ctx, caller, user.id, input.message)
    return new Redirect(`/${inUrl(user.username)}`, { notice: 'Thank you. The administrators have your report.' })
  },
})
