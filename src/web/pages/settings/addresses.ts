import { z } from 'zod'
import { onGroupSignedIn, onProjectSignedIn, signedIn } from '../../../access/rules.js'
import { homeOfGroup, homeOfProject } from '../../links.js'
import { page, Redirect } from '../../page.js'

const input = z.object({})

const moved = (at: string, to: string) => page({ at, access: signedIn, ownerOnly: false, input, show: async () => new Redirect(to) })

const ofProject = (at: string, to: string) =>
  page({
    at: `P/-/${at}`,
    access: onProjectSignedIn('read_project'),
    input,
    show: async ({ subject }) => new Redirect(`${homeOfProject(subject)}/-/${to}`),
  })

const ofGroup = (at: string, to: string) =>
  page({
    at: `G/-/${at}`,
    access: onGroupSignedIn('read_group'),
    input,
    show: async ({ subject }) => new Redirect(`${homeOfGroup(subject)}/-/${to}`),
  })

/** Other addresses of the original, and those that forms are sent to, which somebody may open. */
export const otherAddresses = [
  moved('/projects', '/dashboard/projects'),
  moved('/groups', '/dashboard/groups'),
  ofProject('settings/members', 'project_members'),
  ofProject('settings/repository', 'protected_branches'),
  ofProject('settings/ci_cd', 'variables'),
  ofProject('group_links', 'project_members'),
  ofGroup('settings/repository', 'deploy_tokens'),
  ofGroup('settings/integrations', 'hooks'),
  ofGroup('settings/ci_cd', 'variables'),
]
