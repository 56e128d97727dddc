import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** All that a present function may know beside the record: where things are, and who looks. */
export interface View {
  links: Links
  /** An address with `%{hash}` in it; null: nobody has an image but his own. */
  avatarService: string | null
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
}
