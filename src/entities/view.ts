import type { ActorUser } from '../access/actor.js'
import type { Links } from '../links.js'

/** All that a present function may know beside the record: where things are, and who looks. */
export interface View {
  links: Links
  /** Null for an anonymous viewer. */
  viewer: ActorUser | null
}
