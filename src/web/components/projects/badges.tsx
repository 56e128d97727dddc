import type { Context } from '../../../context.js'
import { pictureAddress } from '../../../services/core/external-pictures.js'
import { readSettings } from '../../../services/core/settings.js'
import type { Badge } from '../../../services/projects/badges/badges.js'

/** A badge, with where a page has its picture; null: it is not shown (WB-460). */
export interface PicturedBadge extends Badge {
  picture: string | null
}

/** Badges with their pictures, which go through the proxy as those of texts. */
export async function picturedBadges(ctx: Context, badges: Badge[]): Promise<PicturedBadge[]> {
  const settings = await readSettings(ctx)
  return badges.map((badge) => ({ ...badge, picture: pictureAddress(ctx, settings, badge.rendered_image_url) }))
}

/** What a badge is called: its name, or where it leads. */
export const nameOfBadge = ({ name, rendered_link_url }: Pick<Badge, 'name' | 'rendered_link_url'>) => name?.trim() || rendered_link_url

export const BadgeLink = ({ badge }: { badge: PicturedBadge }) => (
  <a href={badge.rendered_link_url} rel="nofollow noopener" class="wrap">
    {badge.picture === null ? nameOfBadge(badge) : <img src={badge.picture} alt={nameOfBadge(badge)} loading="lazy" />}
  </a>
)
