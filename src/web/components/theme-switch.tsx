import { t } from '../language/language.js'
import type { PageView } from '../page.js'
import { FormTag } from './form.js'
import { Icon, type IconName } from './icon.js'

const choices = (): [value: string, label: string, icon: IconName][] => [
  ['', t('Colours of the system'), 'monitor'],
  ['light', t('Light'), 'sun-medium'],
  ['dark', t('Dark'), 'moon'],
]

/** Chooses light or dark colours, or those of the system (WB-522). */
export const ThemeSwitch = ({ view, returnTo }: { view: PageView; returnTo: string }) => (
  <FormTag view={view} action="/-/theme" class="choice">
    <input type="hidden" name="return_to" value={returnTo} />
    <span class="dim">{t('Colours')}</span>
    <span class="group low">
      {choices().map(([value, label, icon]) => (
        <button
          key={value}
          type="submit"
          name="theme"
          value={value}
          class="square"
          title={label}
          aria-label={label}
          aria-pressed={(view.theme ?? '') === value}
        >
          <Icon name={icon} />
        </button>
      ))}
    </span>
  </FormTag>
)
