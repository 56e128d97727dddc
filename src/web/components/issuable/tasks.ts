import { t } from '../../language/language.js'

const BOX = /<input type="checkbox" class="task-list-item-checkbox" disabled(?: aria-label="Task")?( checked)?>/g

/**
 * The rendered text with a button for each task, in place of its check box (WB-126); null where the boxes are not those
 * that are counted in the text.
 */
export function withTaskButtons(html: string, tasks: number): string | null {
  let number = 0
  const text = html.replace(BOX, (_, checked?: string) => {
    const isDone = checked !== undefined
    return `<button type="submit" class="task" role="checkbox" name="task" value="${number++}:${isDone ? 0 : 1}" aria-checked="${isDone}" aria-label="${t('Task {number}', { number })}"></button>`
  })
  return number > 0 && number === tasks ? text : null
}
