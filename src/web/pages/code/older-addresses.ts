import { z } from 'zod'
import { onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { opt, str } from '../../../http/params.js'
import { latestPipeline } from '../../../services/ci/pipelines.js'
import { homeOfProject, inUrl, queryOf } from '../../links.js'
import { page, Redirect } from '../../page.js'
import { onUserAt } from '../../subjects.js'

/** The page of a user, from addresses that are printed nowhere any more; `/users` is closed as a whole (WB-203). */
const ofUser = (at: string, { query = '', ...facts }: { query?: string; ownerOnly: boolean; robots?: 'disallow' }) =>
  page({ at, access: onUserAt, ...facts, show: async ({ subject: { username } }) => new Redirect(`/${inUrl(username)}${query}`) })

/** A page of a project, from another address below it. */
const ofProject = (at: string, to: string) =>
  page({
    at,
    access: onProject('read_project'),
    show: async ({ subject }) => new Redirect(`${homeOfProject(subject)}${to}`),
  })

/** Addresses of other versions, and those that programs make by themselves, which lead to pages (WB-2). */
export const olderAddresses = [
  ofUser('/u/:username', { ownerOnly: false }),
  ofUser('/users/:username', { ownerOnly: true, robots: 'disallow' }),
  ...['groups', 'projects', 'contributed', 'starred', 'snippets'].map((tab) => ofUser(`/users/:username/${tab}`, { ownerOnly: true })),
  ...['activity', 'calendar', 'calendar_activities'].map((tab) => ofUser(`/users/:username/${tab}`, { query: '?tab=activity', ownerOnly: true })),
  page({
    at: '/projects/:id',
    access: onProject('read_project'),
    show: async ({ subject }: { subject: ProjectSubject }) => new Redirect(homeOfProject(subject)),
  }),
  ofProject('P/-/branches/new', '/-/branches'),
  ofProject('P/-/branches/active', '/-/branches'),
  ofProject('P/-/branches/stale', '/-/branches'),
  ofProject('P/-/branches/all', '/-/branches'),
  ofProject('P/-/jobs', '/-/pipelines'),
  // tabs of the page, with what it is filled with
  ...['diffs', 'pipelines'].map((tab) =>
    page({
      at: `P/-/merge_requests/new/${tab}`,
      access: onProject('read_project'),
      show: async ({ subject, view }) => new Redirect(`${homeOfProject(subject)}/-/merge_requests/new${queryOf(view)}`),
    }),
  ),
  page({
    at: 'P/-/builds/:job_id',
    access: onProject('read_project'),
    input: z.object({ job_id: str() }),
    show: async ({ subject, input }) => new Redirect(`${homeOfProject(subject)}/-/jobs/${inUrl(input.job_id)}`),
  }),
  page({
    at: 'P/-/pipelines/latest',
    access: onProjectSignedIn('read_pipeline'),
    input: z.object({ ref: opt(str()) }),
    async show({ ctx, subject, input }) {
      const { id } = await latestPipeline(ctx, subject, input.ref)
      return new Redirect(`${homeOfProject(subject)}/-/pipelines/${id}`)
    },
  }),
]
