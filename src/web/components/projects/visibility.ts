import { VISIBILITIES, VISIBILITY_LEVEL, type Visibility } from '../../../rules/visibility.js'
import { isRestricted } from '../../../services/core/settings.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import type { Choice } from '../form.js'

const labels = (): Record<Visibility, string> => ({
  private: t('Private: only members see it'),
  internal: t('Internal: everyone who is signed in sees it'),
  public: t('Public: everyone sees it'),
})

/** The visibilities that the viewer may choose, up to a highest level; the present one always. */
export function visibilityChoices({ settings, viewer }: PageView, highest: number = VISIBILITY_LEVEL.public, present?: number): Choice[] {
  return VISIBILITIES.filter((name) => {
    const level = VISIBILITY_LEVEL[name]
    return level === present || (level <= highest && (viewer?.admin || !isRestricted(settings, level)))
  }).map((value) => ({ value, label: labels()[value] }))
}
