import type { TodoRecord } from '../../../services/issuables/todo-list.js'

const ACTIONS: Record<TodoRecord['todo']['action'], string> = {
  assigned: 'assigned you',
  review_requested: 'asked you for a review of',
  mentioned: 'mentioned you on',
  directly_addressed: 'addressed you on',
  marked: 'added',
  build_failed: 'The pipeline failed for',
  unmergeable: 'Can no longer be merged:',
}

/** Who has done what, before the title of what it is about. */
export const todoText = (viewer: { id: number }, { todo, author }: Pick<TodoRecord, 'todo' | 'author'>): string =>
  `${todo.action === 'build_failed' || todo.action === 'unmergeable' ? '' : `${author.id === viewer.id ? 'You' : author.name} `}${ACTIONS[todo.action]}`

/** What a to-do is about, and its page below its project. */
export function aboutTodo({ todo, target }: Pick<TodoRecord, 'todo' | 'target'>) {
  const isIssue = 'issue' in target
  const { iid, title, state } = isIssue ? target.issue.issue : target.request.request
  return {
    iid,
    title,
    state,
    isIssue,
    page: `${isIssue ? 'issues' : 'merge_requests'}/${iid}${todo.note_id === null ? '' : `#note_${todo.note_id}`}`,
  }
}
