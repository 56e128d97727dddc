import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, rowId } from '../../../http/params.js'
import { reportAbuse, reportable } from '../../../services/operations/abuse-reports.js'
import { FormFaults, FormTag, Hidden, Submit, TextField } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const abuseReport = z.object({ user_id: rowId(), message: orDefault(documented.filled(), '') })

/** Tells the administrators about a person (WB-184). */
export const abuseReportPage = page({
  at: '/abuse_reports/new',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ user_id: rowId() }),
  async show({ ctx, input, view }) {
    const user = await reportable(ctx, input.user_id)
    const f = fieldsOf(view, abuseReport)
    return {
      title: t('Report {name}', { name: user.name }),
      body: (
        <section class="content">
          <h1>
            <Phrase text="Report {name} to the administrators" name={user.name} />
          </h1>
          <p>
            <Phrase
              text="Report spam, harassment and other abuse. The administrators read what you write; {strong} does not."
              strong={<strong>@{user.username}</strong>}
            />
          </p>
          <FormTag view={view} action="/abuse_reports" once>
            <FormFaults view={view} />
            <Hidden {...f.user_id} value={user.id} />
            <TextField {...f.message} label={t('What is wrong')} rows={6} hint={t('Links to what you mean help.')} />
            <Submit label={t('Send report')} />
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
  input: abuseReport,
  on: abuseReportPage,
  async submit({ ctx, caller, input }) {
    const user = await reportable(ctx, input.user_id)
    await reportAbuse(ctx, caller, user.id, input.message)
    return new Redirect(`/${inUrl(user.username)}`, { notice: t('Thank you. The administrators have your report.') })
  },
})
