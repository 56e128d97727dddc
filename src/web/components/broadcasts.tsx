import { readOnlyText } from '../../services/core/maintenance.js'
import { t } from '../language/language.js'
import type { PageView } from '../page.js'
import { ActionButton } from './form.js'

/** The top of every page: whether the service is read-only, and the messages of administrators (WB-180, WB-182). */
export function Broadcasts({ view }: { view: PageView }) {
  const { broadcasts: messages } = view
  const readOnly = readOnlyText(view.settings)
  if (readOnly === null && messages.length === 0) return null
  return (
    <section class="broadcasts" aria-label={t('Messages')}>
      {readOnly !== null && <p class="broadcast waiting">{readOnly}</p>}
      {messages.map(({ id, message, dismissable }) => (
        <div class="broadcast" key={id}>
          <p>{message}</p>
          {dismissable && (
            <ActionButton
              view={view}
              action={`/-/broadcast_messages/${id}/dismiss`}
              label={t('Dismiss')}
              what={t('this message')}
              class="quiet"
              fields={{ return_to: view.address }}
            />
          )}
        </div>
      ))}
    </section>
  )
}
