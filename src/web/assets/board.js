// Cards of a board are dragged to another list: the form of the card is sent.
let dragged
for (const card of document.querySelectorAll('.card[draggable]'))
  card.addEventListener('dragstart', (event) => {
    dragged = card
    event.dataTransfer.effectAllowed = 'move'
  })
for (const list of document.querySelectorAll('[data-list]')) {
  list.addEventListener('dragover', (event) => {
    if (!dragged) return
    event.preventDefault()
    list.classList.add('over')
  })
  list.addEventListener('dragleave', () => list.classList.remove('over'))
  list.addEventListener('drop', (event) => {
    const form = dragged?.querySelector('form')
    if (!form) return
    event.preventDefault()
    form.elements.to.value = list.dataset.list
    form.requestSubmit()
  })
}
