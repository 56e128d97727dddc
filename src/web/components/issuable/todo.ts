import type { TodoRecord } from '../../../services/issuables/todo-list.js'
import { t } from '../../language/language.js'

const actionsBy = (name: string): Record<TodoRecord['todo']['action'], string> => ({
  assigned: t('{name} assigned you', { name }),
  review_requested: t('{name} asked you for a review of', { name }),
  mentioned: t('{name} mentioned you on', { name }),
  directly_addressed: t('{name} addressed you on', { name }),
  marked: t('{name} added', { name }),
  build_failed: t('The pipeline failed for'),
  unmergeable: t('Can no longer be merged:'),
})

/** Who has done what, before the title of what it is about. */
export const todoText = (viewer: { id: number }, { todo, author }: Pick<TodoRecord, 'todo' | 'author'>): string =>
  author.id === viewer.id && todo.action === 'marked' ? t('You added') : actionsBy(author.id === viewer.id ? t('You') : author.name)[todo.action]

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
