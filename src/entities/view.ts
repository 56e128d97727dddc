import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** What presenters need in addition to the record: URLs and the viewer. */
export interface View {
  links: Links
  /** A URL with `%{hash}` in it; null: there are only uploaded and generated images. */
  avatarService: string | null
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
}
