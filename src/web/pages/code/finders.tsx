import { shortId } from '../../components/files/code.js'
import { Icon } from '../../components/icon.js'
import { SearchForm } from '../../components/search.js'
import { t } from '../../language/language.js'
import type { Place } from './revision.js'

/** The pages that are shown for another branch or tag. */
export const DESTINATIONS = ['tree', 'blob', 'commits', 'find_file', 'graphs', 'network'] as const

/** Switches to another branch or tag: a menu that scripts fill, and without them a form whose page leads on. */
export function RefSwitch({ place, page: destination }: { place: Place; page: (typeof DESTINATIONS)[number] }) {
  const { links, ref, path } = place
  const at = links.page('refs/switch')
  const name = /^[0-9a-f]{40}$/.test(ref) ? shortId(ref) : ref
  const choices = `${at}?${new URLSearchParams({ destination, path, from: ref, choices: 'true' })}`
  return (
    <details class="menu refs">
      <summary class="button switch" aria-label={t('{name}: switch branch or tag', { name })} data-key="w" data-says={t('Switch branch or tag')}>
        <Icon name="git-branch" /> <strong class="cut">{name}</strong> <Icon name="chevron-down" />
      </summary>
      <div class="items">
        <SearchForm action={at} value={undefined} label={t('Find a branch or tag')} hidden={{ destination, path }} finder={choices} />
        <a href={`${at}?${new URLSearchParams({ destination, path })}`}>{t('All branches and tags')}</a>
      </div>
    </details>
  )
}

/** Leads to the finder, which scripts open in place. */
export const FindFile = ({ place: { links, ref } }: { place: Pick<Place, 'links' | 'ref'> }) => (
  <a class="button" href={links.findFile(ref)} data-key="t" data-files>
    <Icon name="search" />
    {t('Find file')}
  </a>
)
