import { z } from 'zod'
import type { View } from '../../http/view.js'
import { readableTextColor } from '../../lib/text/color.js'
import type { BoardList as BoardListRecord, BoardRecord, BoardSource } from '../../services/issuables/boards.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { ProjectAddress, presentProjectAddress } from '../projects/project.js'
import { Milestone, presentMilestone } from './milestone.js'

export const BoardList = z
  .strictObject({
    id: z.int(),
    label: z
      .strictObject({ id: z.int(), name: z.string(), color: z.string(), text_color: z.string(), description: z.string().nullable() })
      .nullable(),
    assignee: UserRef.optional(),
    milestone: Milestone.optional(),
    position: z.int(),
  })
  .meta({ id: 'BoardList', description: 'A list of a board: the issues with its label, of its assignee or of its milestone.' })

export const Board = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    project: ProjectAddress.extend({ name_with_namespace: z.string(), path_with_namespace: z.string(), http_url_to_repo: z.string() }).nullable(),
    group: z.strictObject({ id: z.int(), name: z.string(), web_url: z.url() }).nullable(),
    lists: z.array(BoardList),
  })
  .meta({ id: 'Board', description: 'A board of the issues of a project, or of those in a group.' })

/** `today` determines whether a milestone has expired (MI-8). */
export function presentBoardList({ id, label, user, milestone, position }: BoardListRecord, today: string, view: View) {
  return {
    id,
    label: label && { ...label, text_color: readableTextColor(label.color) },
    assignee: user ? presentUserRef(user, view) : undefined,
    milestone: milestone ? presentMilestone(milestone, today, view) : undefined,
    position,
  } satisfies z.infer<typeof BoardList>
}

export function presentBoard({ board, lists }: BoardRecord, source: BoardSource, today: string, view: View): z.infer<typeof Board> {
  return { id: board.id, name: board.name, ...sourceOf(source, view), lists: lists.map((list) => presentBoardList(list, today, view)) }
}

function sourceOf(source: BoardSource, view: View) {
  if ('group' in source) {
    const { id, name, full_path } = source.group.group
    return { project: null, group: { id, name, web_url: view.links.group(full_path) } }
  }
  const { project } = source.project
  const path = `${project.namespace.full_path}/${project.path}`
  return {
    project: Object.assign(presentProjectAddress({ project, namespace: project.namespace }, view), {
      name_with_namespace: `${project.namespace.full_name} / ${project.name}`,
      path_with_namespace: path,
      http_url_to_repo: view.links.http(path),
    }),
    group: null,
  }
}
