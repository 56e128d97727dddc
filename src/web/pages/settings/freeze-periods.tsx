import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, rowId } from '../../../http/params.js'
import { createFreezePeriod, deleteFreezePeriod, isFrozen, listFreezePeriods } from '../../../services/ci/environments/freeze-periods.js'
import { ActionButton, DataList, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const at = 'P/-/freeze_periods'
/** A project has no more. */
const PER_PAGE = 50
const access = onProjectSignedIn('admin_pipeline')
const addressOf = (subject: Pick<ProjectSubject, 'project'>) => `${homeOfProject(subject)}/-/freeze_periods`

const newPeriod = z.object({
  period: z.object({
    freeze_start: orDefault(documented.filled(), ''),
    freeze_end: orDefault(documented.filled(), ''),
    cron_timezone: orDefault(documented.filled(), ''),
  }),
})

/** When the project is not to be deployed (FZ-3). */
const periodsPage = page({
  at,
  access,
  async show({ ctx, subject, view }) {
    const [{ items }, frozen] = await Promise.all([listFreezePeriods(ctx, subject, { page: 1, per_page: PER_PAGE }), isFrozen(ctx, subject.project)])
    const f = fieldsOf(view, newPeriod).period
    return {
      title: `${t('Deploy freezes')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/freeze_periods" title={t('Deploy freezes')}>
          <p>
            <Phrase
              text="While one goes on, jobs have the variable {code}, by which rules leave out those that deploy."
              code={<code>CI_DEPLOY_FREEZE</code>}
            />
            {frozen && <strong> {t('One goes on now.')}</strong>}
          </p>
          <Rows empty={t('There are no deploy freezes.')}>
            {items.map(({ id, freeze_start, freeze_end, cron_timezone }) => (
              <Row
                key={id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${addressOf(subject)}/${id}`}
                    method="DELETE"
                    label={t('Delete')}
                    what={t('{freezeStart} to {freezeEnd}', { freezeStart: freeze_start, freezeEnd: freeze_end })}
                    class="danger"
                  />
                }
              >
                <span class="wrap">
                  <Phrase text="From {freezeStart} to {freezeEnd}" freezeStart={<code>{freeze_start}</code>} freezeEnd={<code>{freeze_end}</code>} />
                </span>
                <span class="dim wrap">{cron_timezone}</span>
              </Row>
            ))}
          </Rows>
          <h2>{t('New deploy freeze')}</h2>
          <FormTag view={view} action={addressOf(subject)} once>
            <FormFaults view={view} />
            <Field
              {...f.freeze_start}
              label={t('Begins')}
              hint={
                <Phrase
                  text="Minute, hour, day of the month, month and day of the week: {code} is each Friday at 23:00."
                  code={<code>0 23 * * 5</code>}
                />
              }
              autocomplete="off"
            />
            <Field {...f.freeze_end} label={t('Ends')} hint={t('Likewise.')} autocomplete="off" />
            <Field {...f.cron_timezone} label={t('Time zone')} value="UTC" list="zones" autocomplete="off" />
            <DataList id="zones" values={['UTC', ...Intl.supportedValuesOf('timeZone')]} />
            <Submit label={t('Add deploy freeze')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

const addition = form({
  at,
  access,
  input: newPeriod,
  on: periodsPage,
  async submit({ ctx, subject, input }) {
    await createFreezePeriod(ctx, subject, input.period)
    return new Redirect(addressOf(subject), { notice: t('The deploy freeze is added.') })
  },
})

const removal = form({
  at: `${at}/:freeze_period_id`,
  method: 'DELETE',
  access,
  input: z.object({ freeze_period_id: rowId() }),
  async submit({ ctx, subject, input }) {
    await deleteFreezePeriod(ctx, subject, input.freeze_period_id)
    return new Redirect(addressOf(subject), { notice: t('The deploy freeze is deleted.') })
  },
})

export const freezePeriods = [periodsPage, addition, removal]
