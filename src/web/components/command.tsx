import { t } from '../language/language.js'
import { Icon } from './icon.js'

/** A command to be copied. */
export const Command = ({ id, text }: { id: string; text: string }) => (
  <div class="copied">
    <code id={id}>{text}</code>
    <button type="button" data-copy={id} aria-label={t('Copy: {command}', { command: text })} hidden>
      <Icon name="copy" />
    </button>
  </div>
)
