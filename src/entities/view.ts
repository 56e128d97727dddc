import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** Everything that a presenter may know beside the record: URLs, and who is looking. */
export interface View {
  links: Links
  /** A URL with `%{hash}` in it; null: there are only uploaded and generated images. */
  avatarService: string | null
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
}
