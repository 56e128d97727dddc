// Moves cards of a board to another list: by dragging them, or by a list of the lists. Without scripts the link of a card
// leads to a page that does the same.
const texts = JSON.parse(document.querySelector('script[data-texts]')?.dataset.texts ?? '{}')
/** A text in the language of the page. */
const say = (text) => texts[text] ?? text
const form = document.getElementById('board-move')
const board = () => document.getElementById('board')

/** Sends the form of the board for a card, and shows the board as it is then. */
async function move(card, to) {
  const from = card.closest('[data-list]').dataset.list
  if (from === to) return
  const { id } = card
  const { elements } = form
  elements.issue_iid.value = card.dataset.issue
  elements.project.value = card.dataset.project ?? ''
  elements.from.value = from
  elements.to.value = to
  const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)), headers: { accept: 'text/html' } }).catch(
    () => null,
  )
  const page = answer && new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page?.getElementById('board')
  if (!fresh) return alert(page?.querySelector('[role=alert]')?.textContent.trim() || say('The card could not be moved. Are you still signed in?'))
  const left = board().scrollLeft
  board().replaceWith(fresh)
  fresh.scrollLeft = left
  document.getElementById(id)?.querySelector('.title').focus({ preventScroll: true })
}

let dragged
addEventListener('dragstart', (event) => {
  dragged = event.target.closest?.('.card[draggable]')
  if (dragged) event.dataTransfer.effectAllowed = 'move'
})
const listAt = ({ target }) => (dragged ? target.closest?.('[data-list]') : null)
addEventListener('dragover', (event) => {
  const list = listAt(event)
  for (const other of document.querySelectorAll('.over')) if (other !== list) other.classList.remove('over')
  if (!list) return
  event.preventDefault()
  list.classList.add('over')
})
addEventListener('drop', (event) => {
  const list = listAt(event)
  if (!list || !form) return
  event.preventDefault()
  void move(dragged, list.dataset.list)
})
addEventListener('dragend', () => {
  dragged = undefined
  for (const list of document.querySelectorAll('.over')) list.classList.remove('over')
})

addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-move]')
  if (!link || !form || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  const card = link.closest('.card')
  const here = card.closest('[data-list]')
  const dialog = Object.assign(document.createElement('dialog'), { className: 'finder moves' })
  dialog.ariaLabel = link.ariaLabel
  dialog.append(Object.assign(document.createElement('h2'), { textContent: link.ariaLabel }))
  for (const list of document.querySelectorAll('[data-list]')) {
    if (list === here) continue
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: list.querySelector('h2 .cut').textContent })
    button.addEventListener('click', () => {
      dialog.close()
      void move(card, list.dataset.list)
    })
    dialog.append(button)
  }
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
})
