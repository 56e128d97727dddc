import type { HookAttempt } from '../../../services/hooks/attempts.js'
import type { Hook } from '../../../services/hooks/hooks.js'
import { t } from '../../language/language.js'
import { Badge } from '../list.js'

/** What the receiver has answered to a delivery. */
export const Outcome = ({ attempt }: { attempt: HookAttempt['attempt'] }) => {
  const succeeded = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
  return <Badge kind={succeeded ? 'success' : 'danger'}>{attempt.status === null ? t('no answer') : String(attempt.status)}</Badge>
}

/** Whether deliveries to a hook go well. */
export const HookState = ({ hook, now }: { hook: Hook; now: Date }) =>
  hook.disabled_until && hook.disabled_until > now ? (
    <Badge kind="danger">{t('paused after failures')}</Badge>
  ) : hook.recent_failures > 0 ? (
    <Badge kind="waiting">{t('failing')}</Badge>
  ) : null
