import { VISIBILITIES, VISIBILITY_LEVEL, type Visibility } from '../../../rules/visibility.js'
import { isRestricted } from '../../../services/core/settings.js'
import type { PageView } from '../../page.js'
import type { Choice } from '../form.js'

const LABELS: Record<Visibility, string> = {
  private: 'Private: only members see it',
  internal: 'Internal: everyone who is signed in sees it',
  public: 'Public: everyone sees it',
}

/** The visibilities that the viewer may choose, up to a highest level; the present one always. */
export function visibilityChoices({ settings, viewer }: PageView, highest: number = VISIBILITY_LEVEL.public, present?: number): Choice[] {
  return VISIBILITIES.filter((name) => {
    const level = VISIBILITY_LEVEL[name]
    return level === present || (level <= highest && (viewer?.admin || !isRestricted(settings, level)))
  }).map((value) => ({ value, label: LABELS[value] }))
}
