import { z } from 'zod'
import { adminFirst, getProjectFor } from '../../access/rules.js'
import { presentUserAgent, UserAgentDetail } from '../../entities/identity/user-agent.js'
import { endpoint } from '../../http/endpoint.js'
import { rowId } from '../../http/params.js'
import { getProjectSnippet, getSnippet } from '../../services/content/snippets.js'
import { userAgentOf, userAgentOfIssue } from '../../services/identity/user-agents.js'

/** The user agents that created issues and snippets, for administrators who investigate spam (UA-1). */
export const userAgents = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/issues/:issue_iid/user_agent_detail',
    summary: 'Get the user agent that created an issue',
    access: adminFirst,
    input: z.object({ id: z.string(), issue_iid: rowId() }),
    output: UserAgentDetail,
    handler: async ({ ctx, caller, input }) => presentUserAgent(await userAgentOfIssue(ctx, caller, input.id, input.issue_iid)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/snippets/:snippet_id/user_agent_detail',
    summary: 'Get the user agent that created a snippet of a project',
    access: adminFirst,
    input: z.object({ id: z.string(), snippet_id: rowId() }),
    output: UserAgentDetail,
    async handler({ ctx, caller, input }) {
      const subject = await getProjectFor(ctx, caller, input.id)
      const { snippet } = await getProjectSnippet(ctx, subject, caller, input.snippet_id)
      return presentUserAgent(await userAgentOf(ctx, { snippet_id: snippet.id }))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/snippets/:id/user_agent_detail',
    summary: 'Get the user agent that created a personal snippet',
    access: adminFirst,
    input: z.object({ id: rowId() }),
    output: UserAgentDetail,
    async handler({ ctx, caller, input }) {
      const { snippet } = await getSnippet(ctx, caller, input.id)
      return presentUserAgent(await userAgentOf(ctx, { snippet_id: snippet.id }))
    },
  }),
]
