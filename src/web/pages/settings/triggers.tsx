import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, paging, rowId } from '../../../http/params.js'
import { createTrigger, listTriggers, revokeTrigger, type Trigger } from '../../../services/ci/triggers/triggers.js'
import { ActionButton, Copied, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { PersonLink } from '../../components/people/person-link.js'
import { LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const PER_PAGE = 50
const at = 'P/-/triggers'
const access = onProjectSignedIn('admin_pipeline')
const SECRET = { 'cache-control': 'no-store' }

const newTrigger = z.object({ trigger: z.object({ description: orDefault(documented.filled(), '') }) })
const addressOf = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/triggers`

interface RowProps {
  view: PageView
  subject: ProjectSubject
  reader: number
  trigger: Trigger
}

function TriggerRow({ view, subject, reader, trigger: { id, description, token, owner, created_at, last_used_at } }: RowProps) {
  const isOwn = owner.id === reader
  return (
    <Row
      actions={
        <ActionButton
          view={view}
          action={`${addressOf(subject)}/${id}`}
          method="DELETE"
          label={t('Revoke')}
          what={description || `#${id}`}
          class="danger"
        />
      }
    >
      <strong class="wrap">{description || t('Trigger #{id}', { id })}</strong>
      {isOwn && token !== null ? (
        <Copied id={`token_${id}`} label={t('Token of {description}', { description })} value={token} />
      ) : (
        <span>{token === null ? t('Its token cannot be decrypted.') : <code>{token}…</code>}</span>
      )}
      <span class="dim">
        <PersonLink view={view} user={owner} />
        {' · '}
        <Phrase text="made {time}" time={<Time at={created_at} />} />
        <LastUsed at={last_used_at} />
      </span>
    </Row>
  )
}

/** Tokens with which other programs make pipelines (CI-220, WB-742). */
const triggersPage = page({
  at,
  access,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listTriggers(ctx, caller, subject, { page: input.page, per_page: PER_PAGE })
    const { description } = fieldsOf(view, newTrigger).trigger
    const to = view.links.api(`/projects/${subject.project.id}/trigger/pipeline`)
    return {
      title: `${t('Triggers')} · ${fullPathOf(subject.project)}`,
      headers: SECRET,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/triggers" title={t('Triggers')}>
          <p>{t('With one of these tokens another program makes a pipeline, with what the owner of the token may do here.')}</p>
          <Rows empty={t('There are no triggers.')}>
            {items.map((trigger) => (
              <TriggerRow key={trigger.id} view={view} subject={subject} reader={caller.user.id} trigger={trigger} />
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('New trigger')}</h2>
          <FormTag view={view} action={addressOf(subject)} once>
            <FormFaults view={view} />
            <Field {...description} label={t('Description')} hint={t('The program that gets the token, or what it is for.')} />
            <Submit label={t('Add trigger')} />
          </FormTag>
          <h2>{t('Use it')}</h2>
          <p>{t('A pipeline of a branch or tag, with a variable:')}</p>
          <pre>
            <code>{`curl -X POST -F token=$TOKEN -F ref=${subject.project.default_branch ?? 'main'} -F "variables[NAME]=value" ${to}`}</code>
          </pre>
          <p>{t('From a job of another project, with the token that it has:')}</p>
          <pre>
            <code>{`curl -X POST -F token=$CI_JOB_TOKEN -F ref=${subject.project.default_branch ?? 'main'} ${to}`}</code>
          </pre>
        </ProjectSettings>
      ),
    }
  },
})

const addition = form({
  at,
  access,
  input: newTrigger,
  on: triggersPage,
  async submit({ ctx, caller, subject, input }) {
    const { description } = await createTrigger(ctx, caller, subject, input.trigger.description)
    return new Redirect(addressOf(subject), { notice: t('The trigger {description} is added.', { description }) })
  },
})

const removal = form({
  at: `${at}/:trigger_id`,
  method: 'DELETE',
  access,
  input: z.object({ trigger_id: rowId() }),
  async submit({ ctx, subject, input }) {
    await revokeTrigger(ctx, subject, input.trigger_id)
    return new Redirect(addressOf(subject), { notice: t('The trigger is revoked: its token makes no more pipelines.') })
  },
})

export const triggers = [triggersPage, addition, removal]
