import { signedIn } from '../../../access/rules.js'
import type { FirstSteps } from '../../../services/activity/first-steps.js'
import { ActionButton } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { form, Redirect } from '../../page.js'
import { withDismissed } from '../../session/cookies.js'

/** Stands for the card among the ids of messages that a browser has dismissed, which begin at 1. */
export const FIRST_STEPS = 0

/** What an administrator does first on a new service, until it is done or dismissed (WB-526). */
export const FirstStepsCard = ({ view, steps }: { view: PageView; steps: FirstSteps }) => (
  <section class="box" aria-labelledby="first-steps">
    <div class="head">
      <h2 class="grow" id="first-steps">
        {t('Roost is yours: what to do first')}
      </h2>
      <ActionButton view={view} action="/-/first_steps/dismiss" label={t('Dismiss')} what={t('these steps')} class="ghost" />
    </div>
    <ul class="rows">
      <Step view={view} to="/-/profile/password/edit" label={t('Choose a password of your own')} text={t('The first one was made for you.')} />
      <Step
        view={view}
        to="/admin/users/new"
        label={t('Add a colleague')}
        text={t('Or let people sign up, in the settings of the administration.')}
        isDone={steps.hasColleague}
      />
      <Step
        view={view}
        to="/projects/new"
        label={t('Make a project')}
        text={t('Empty, or with what another server has.')}
        isDone={steps.hasProject}
      />
    </ul>
  </section>
)

const Step = ({ view, to, label, text, isDone = false }: { view: PageView; to: string; label: string; text: string; isDone?: boolean }) => (
  <li>
    <span class={isDone ? 'success' : 'dim'}>
      <Icon name={isDone ? 'circle-check' : 'circle-dashed'} />
    </span>
    <div class="what">
      <span>
        {isDone ? (
          <>
            {label} <span class="dim">{t('(done)')}</span>
          </>
        ) : (
          <a href={view.links.prefix + to}>
            <strong>{label}</strong>
          </a>
        )}
      </span>
      <span class="dim">{text}</span>
    </div>
  </li>
)

export const firstStepsDismissal = form({
  at: '/-/first_steps/dismiss',
  access: signedIn,
  ownerOnly: false,
  openWhen: ['read_only'],
  submit: async ({ ctx, view }) => new Redirect('/dashboard', { cookies: [withDismissed(ctx, view.dismissed, FIRST_STEPS)] }),
})
