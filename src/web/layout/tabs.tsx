import { MAX_COUNTED } from '../../services/issuables/waiting.js'
import { Icon, type IconName } from '../components/icon.js'

/** The name of a tab, its label and address, and whether it is there for the reader. */
export type Tab<Name extends string = string> = [name: Name, label: string, to: string, isShown: boolean, more?: { icon?: IconName; count?: number }]

/** A number beside a word; beyond `MAX_COUNTED` it is only said that there are more. */
export const countText = (count: number) => (count > MAX_COUNTED ? `${MAX_COUNTED}+` : String(count))

export const Tabs = ({ of, tabs, current }: { of: string; tabs: Tab[]; current: string | null }) => (
  <nav class="tabs" aria-label={of}>
    {tabs.map(
      ([name, label, to, isShown, { icon, count = 0 } = {}]) =>
        isShown && (
          <a key={name} href={to} {...(name === current && { 'aria-current': 'page' })}>
            {icon && <Icon name={icon} />}
            {label}
            {count > 0 && (
              <>
                {' '}
                <span class="count">{countText(count)}</span>
              </>
            )}
          </a>
        ),
    )}
  </nav>
)
