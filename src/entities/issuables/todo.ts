import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { TodoRecord } from '../../services/issuables/todo-list.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Issue, presentIssue } from './issue.js'
import { FollowedMergeRequest, presentFollowedMergeRequest } from './merge-request.js'

export const Todo = z
  .strictObject({
    id: z.int(),
    project: z.strictObject({
      id: z.int(),
      name: z.string(),
      name_with_namespace: z.string(),
      path: z.string(),
      path_with_namespace: z.string(),
    }),
    group: z.null(),
    author: UserRef,
    action_name: z.enum(['assigned', 'review_requested', 'mentioned', 'build_failed', 'marked', 'unmergeable', 'directly_addressed']),
    target_type: z.enum(['Issue', 'MergeRequest', 'Commit']),
    target: z.union([Issue, FollowedMergeRequest]),
    target_url: z.url(),
    body: z.string(),
    state: z.enum(['pending', 'done']),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Todo', description: 'Something that waits for the caller.' })

export function presentTodo({ todo, author, project, target: about, note }: TodoRecord, today: string, view: View): z.infer<typeof Todo> {
  const target = 'issue' in about ? presentIssue(about.issue, today, view) : presentFollowedMergeRequest(about.request, today, view)
  return {
    id: todo.id,
    project,
    group: null,
    author: presentUserRef(author, view),
    action_name: todo.action,
    target_type: todo.target_type,
    target,
    target_url: todo.note_id === null ? target.web_url : `${target.web_url}#note_${todo.note_id}`,
    body: note ?? target.title,
    state: todo.state,
    created_at: todo.created_at.toISOString(),
    updated_at: todo.updated_at.toISOString(),
  }
}
