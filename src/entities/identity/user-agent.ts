import { z } from 'zod'
import type { UserAgentDetail as Row } from '../../services/identity/user-agents.js'

export const UserAgentDetail = z
  .strictObject({ user_agent: z.string(), ip_address: z.string(), spamfilter_submitted: z.literal(false) })
  .meta({ id: 'UserAgentDetail', description: 'The client that something was created with.' })

/** Spam filters are not supported, so `spamfilter_submitted` is always false. */
export const presentUserAgent = ({ user_agent, ip_address }: Row): z.infer<typeof UserAgentDetail> => ({
  user_agent,
  ip_address,
  spamfilter_submitted: false,
})
