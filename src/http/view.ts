import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** What presenters need in addition to the record: URLs and the viewer. */
export interface View {
  links: Links
  /** URL template of an avatar service, with `%{hash}`; null if avatars are only uploaded or generated. */
  avatarService: string | null
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
}
