/** The name of a tab, its label and address, and whether it is there for the reader. */
export type Tab<Name extends string = string> = [name: Name, label: string, to: string, isShown: boolean]

export const Tabs = ({ of, tabs, current }: { of: string; tabs: Tab[]; current: string | null }) => (
  <nav class="tabs" aria-label={of}>
    {tabs.map(
      ([name, label, to, isShown]) =>
        isShown && (
          <a key={name} href={to} {...(name === current && { 'aria-current': 'page' })}>
            {label}
          </a>
        ),
    )}
  </nav>
)
