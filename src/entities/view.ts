import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** All that a present function may know beside the record: where things are, and who looks. */
export interface View {
  links: Links
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
  /** Address of the avatar service, while it is switched on (G-83). */
  avatarService?: string | undefined
}
