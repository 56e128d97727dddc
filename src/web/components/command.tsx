import { Icon } from './icon.js'

/** A command to be copied. */
export const Command = ({ id, text }: { id: string; text: string }) => (
  <div class="copied">
    <code id={id}>{text}</code>
    <button type="button" data-copy={id} aria-label={`Copy: ${text}`} hidden>
      <Icon name="copy" />
    </button>
  </div>
)
